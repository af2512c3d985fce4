"""A Kubernetes program under another version number.

A lab has one build of each program. Its copy with another number in the place of its own reports
that number everywhere (`/version`, metrics, feature gates), while its code stays the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import mmap
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

_VERSION = re.compile(r"v\d+\.\d+\.\d+")


async def as_version(binary: Path, version: str, scratch: Path) -> Path:
    """The program itself if it has this version, or cannot have it; copies are kept beside it."""
    return await asyncio.to_thread(_as_version, binary, version, scratch)


def _as_version(binary: Path, version: str, scratch: Path) -> Path:
    own = _own_version(binary)
    if not own or own == version or len(own) != len(version) or not _VERSION.fullmatch(version):
        return binary
    folder = binary.parent if os.access(binary.parent, os.W_OK) else scratch
    copy = folder / f"as-{version}" / binary.name
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        _write(binary, copy, own, version)
    return copy if _own_version(copy) == version else binary


def _write(binary: Path, copy: Path, own: str, version: str) -> None:
    """Only the literal itself, which ends with a zero: the same text is part of module paths."""
    handle, name = tempfile.mkstemp(dir=copy.parent, prefix=".partial-")
    os.close(handle)
    partial = Path(name)
    try:
        shutil.copyfile(binary, partial)
        shutil.copymode(binary, partial)
        with partial.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
            old, new = (f"\0{text}\0".encode() for text in (own, version))
            at = content.find(old)
            while at >= 0:
                content[at : at + len(old)] = new
                at = content.find(old, at + len(old))
        partial.replace(copy)
    finally:
        partial.unlink(missing_ok=True)


def _own_version(binary: Path) -> str:
    with contextlib.suppress(OSError):
        return _asked(binary, binary.stat().st_mtime_ns)
    return ""


@functools.cache
def _asked(binary: Path, _: int) -> str:
    done = subprocess.run([binary, "--version"], capture_output=True, check=False, env={})
    found = _VERSION.search(done.stdout.decode(errors="replace"))
    return found[0] if found else ""
