"""A directory in memory, for what may never touch a disk; removed also after kill -9."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import PreflightError
from talops.guard import removed_at_the_end

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOUNTS = Path("/proc/mounts")
_IN_MEMORY = {"tmpfs", "ramfs"}
_PREFIX = "talops-drill-"


@contextlib.contextmanager
def directory_in_memory(needed: int) -> Iterator[Path]:
    """With at least `needed` bytes of space; swapping is the administrator's decision."""
    chosen = _place(needed)
    path = Path(tempfile.mkdtemp(dir=chosen, prefix=_PREFIX))
    try:
        with removed_at_the_end(path):
            yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _place(needed: int) -> Path:
    places = [Path("/dev/shm"), Path("/run"), Path("/tmp")]  # noqa: S108  (only if in memory)
    for place in places:
        if _is_in_memory(place) and os.access(place, os.W_OK):
            free = shutil.disk_usage(place).free
            if free >= needed:
                return place
    raise PreflightError(
        f"no writable file system in memory with {needed >> 20} MiB of free space: a restored "
        "database must not touch a disk",
        where=", ".join(map(str, places)),
        hint="enlarge it: mount -o remount,size=4G /dev/shm",
    )


def _is_in_memory(place: Path) -> bool:
    """The type of the file system of its longest mount point."""
    found, longest = "", -1
    for line in _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines():
        _, mounted, kind, *_ = line.split(" ")
        if place.is_relative_to(mounted) and len(mounted) > longest:
            found, longest = kind, len(mounted)
    return found in _IN_MEMORY
