"""Atomic file writes: a reader sees the old content or the new content, never a mix."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
from pathlib import Path
from typing import IO, TYPE_CHECKING

from talops.errors import TalopsError
from talops.guard import removed_at_the_end

if TYPE_CHECKING:
    from collections.abc import Iterator

PRIVATE = 0o600
PUBLIC = 0o644


def write_atomic(
    path: Path, data: bytes | str, *, mode: int = PUBLIC, guarded: bool = False
) -> None:
    """Replace `path` atomically and durably; on any failure it is unchanged.

    If the process is killed right before the rename, a temporary file remains. `guarded` is for
    keys: a guard process then removes that file.
    """
    content = data.encode() if isinstance(data, str) else data
    beside = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    guard = removed_at_the_end(beside) if guarded else contextlib.nullcontext()
    try:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with _nameless(path.parent) as file:
                if file is None:
                    with guard:
                        _write_beside(beside, content, mode)
                        beside.replace(path)
                    return
                _fill(file, content, mode)
                if not _give_name(file, path):
                    with guard:
                        _link(file, beside)
                        beside.replace(path)
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Report an OSError as a TalopsError that names `path`."""
    try:
        yield
    except OSError as error:
        raise TalopsError(
            f"cannot write: {error.strerror}",
            where=str(path),
            hint="check free space and permissions, then run the same command again",
        ) from error


def sweep(path: Path) -> None:
    """Remove temporary files of `path` whose writer was killed."""
    ours = re.compile(rf"\.{re.escape(path.name)}\.(\d+)-[0-9a-f]{{8}}")
    for left in path.parent.iterdir() if path.parent.is_dir() else ():
        found = ours.fullmatch(left.name)
        if found and not Path(f"/proc/{found[1]}").exists():
            left.unlink(missing_ok=True)


@contextlib.contextmanager
def _nameless(folder: Path) -> Iterator[IO[bytes] | None]:
    """An unnamed file, so that a killed process leaves nothing behind.

    None if the file system does not support O_TMPFILE.
    """
    try:
        handle = os.open(folder, os.O_TMPFILE | os.O_WRONLY, PRIVATE)
    except OSError as error:
        if error.errno not in {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT}:
            raise
        yield None
        return
    with os.fdopen(handle, "wb") as file:
        yield file


def _give_name(file: IO[bytes], path: Path) -> bool:
    """False if a file with that name exists."""
    if path.exists():
        return False
    try:
        _link(file, path)
    except FileExistsError:
        return False
    return True


def _link(file: IO[bytes], name: Path) -> None:
    # With a directory descriptor (ignored for an absolute path) Python calls linkat and follows the
    # link; without one it would link the symlink itself.
    os.link(f"/proc/self/fd/{file.fileno()}", name, src_dir_fd=file.fileno())


def _write_beside(path: Path, content: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    with os.fdopen(handle, "wb") as file:
        _fill(file, content, mode)


def _fill(file: IO[bytes], content: bytes, mode: int) -> None:
    os.fchmod(file.fileno(), mode)
    file.write(content)
    file.flush()
    os.fsync(file.fileno())


def make_private_directory(path: Path) -> Path:
    """A directory with mode 0700."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(0o700)
    return path
