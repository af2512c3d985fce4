"""Files below one directory, reached part by part without following a symlink.

A repository from elsewhere may contain a symlink, or a path with "..", wherever talops writes. The
directory itself may be a symlink: the user named it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.files import PRIVATE, PUBLIC, write_atomic

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# A FIFO must not block; a symlink must not be followed.
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LINKS = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}


class OutsideError(TalopsError):
    """A path that leaves its directory, or would if it was followed."""


def parts_of(name: str) -> tuple[str, ...]:
    """The parts of a relative path without any `..`."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
        raise OutsideError(
            "this path leads outside this directory", where=name, hint="use a path below it"
        )
    return path.parts


@contextlib.contextmanager
def folder(root: Path, *parts: str, create: bool = False) -> Iterator[int]:
    """A descriptor of this directory; FileNotFoundError if it does not exist."""
    handle = os.open(root, _FOLDER)
    try:
        for number, part in enumerate(parts, start=1):
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=handle)
            below = _step(handle, part, root.joinpath(*parts[:number]))
            os.close(handle)
            handle = below
        yield handle
    finally:
        os.close(handle)


def _step(handle: int, part: str, place: Path) -> int:
    try:
        return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=handle)
    except OSError as error:
        if error.errno in _LINKS:
            raise linked(place, "directory") from error
        raise


def linked(place: Path, kind: str) -> OutsideError:
    return OutsideError(
        f"this is a symlink or not a {kind}; talops does not follow it",
        where=str(place),
        hint=f"replace it with a {kind}, or remove it: rm {place}",
    )


@contextlib.contextmanager
def opened(root: Path, name: str, flags: int, mode: int = PRIVATE) -> Iterator[int]:
    """A descriptor of a regular file; with O_CREAT, its directories are created, too."""
    *parents, leaf = parts_of(name)
    place = root.joinpath(*parents, leaf)
    with folder(root, *parents, create=bool(flags & os.O_CREAT)) as inside:
        try:
            handle = os.open(leaf, flags | _FILE, mode, dir_fd=inside)
        except OSError as error:
            if error.errno in {*_LINKS, errno.ENXIO, errno.EISDIR}:
                raise linked(place, "file") from error
            raise
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise linked(place, "file")
        yield handle
    finally:
        os.close(handle)


def read(root: Path, name: str) -> bytes:
    """The content of a file; FileNotFoundError if it does not exist."""
    with opened(root, name, os.O_RDONLY) as handle, os.fdopen(os.dup(handle), "rb") as file:
        return file.read()


def write(root: Path, name: str, data: bytes | str, *, mode: int = PUBLIC) -> None:
    """Like `write_atomic`; a symlink in place of the file itself is replaced, not followed."""
    *parents, leaf = parts_of(name)
    with folder(root, *parents, create=True) as inside:
        # The descriptor stands for the directory: no part of its name is read again.
        try:
            write_atomic(Path(f"/proc/self/fd/{inside}") / leaf, data, mode=mode)
        except TalopsError as error:
            raise TalopsError(
                error.what, where=str(root.joinpath(*parents, leaf)), hint=error.hint
            ) from error


def remove(root: Path, name: str) -> bool:
    """Remove a file, and the directories that are empty then; False if it does not exist."""
    parts = parts_of(name)
    try:
        with folder(root, *parts[:-1]) as inside:
            os.unlink(parts[-1], dir_fd=inside)
    except FileNotFoundError:
        return False
    for end in range(len(parts) - 1, 0, -1):
        with folder(root, *parts[: end - 1]) as inside:
            try:
                os.rmdir(parts[end - 1], dir_fd=inside)
            except OSError:  # something else is in it
                break
    return True


def move(root: Path, source: str, target: str) -> None:
    """Rename one file over another."""
    *from_parts, old = parts_of(source)
    *to_parts, new = parts_of(target)
    with (
        folder(root, *from_parts) as before,
        folder(root, *to_parts, create=True) as after,
    ):
        try:
            os.rename(old, new, src_dir_fd=before, dst_dir_fd=after)
        except OSError as error:
            # The names that the user knows, not those relative to the descriptors.
            raise OSError(error.errno, error.strerror, str(root / target)) from error
