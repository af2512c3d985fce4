"""A directory in memory for the plain text of an editor; removed on any exit."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.guard import removed_at_the_end

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PREFIX = "talops-edit-"


@contextlib.contextmanager
def private_directory(candidates: Iterable[Path]) -> Iterator[Path]:
    """A new 0700 directory on the first candidate that is in memory."""
    base = _in_memory(candidates)
    _sweep(base)
    path = Path(tempfile.mkdtemp(dir=base, prefix=f"{PREFIX}{os.getpid()}-"))
    try:
        with removed_at_the_end(path):
            yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def filesystem_of(path: Path, mounts: str) -> str:
    """The file system type of `path`, from the text of /proc/self/mounts."""
    best, kind = "", ""
    for line in mounts.splitlines():
        _, mount, name, *_ = line.split()
        place = mount.encode().decode("unicode_escape")
        inside = path == Path(place) or Path(place) in path.parents
        if inside and len(place) >= len(best):
            best, kind = place, name
    return kind


def _in_memory(candidates: Iterable[Path]) -> Path:
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
    for path in candidates:
        usable = path.is_dir() and os.access(path, os.W_OK)
        if usable and filesystem_of(path.resolve(), mounts) in {"tmpfs", "ramfs"}:
            return path
    raise TalopsError(
        "no in-memory directory found: the editor would write plain text to a disk",
        hint="mount a tmpfs on /dev/shm, or set single values with talops secrets set",
    )


def _sweep(base: Path) -> None:
    """Remove directories of a killed talops whose guard was killed as well."""
    for path in base.glob(f"{PREFIX}*"):
        pid = path.name.removeprefix(PREFIX).split("-", maxsplit=1)[0]
        with contextlib.suppress(FileNotFoundError):  # another edit has just ended
            mine = path.stat().st_uid == os.getuid()
            if mine and not Path(f"/proc/{pid}").exists():
                shutil.rmtree(path, ignore_errors=True)
