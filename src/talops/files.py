"""Files that are either the old one or the new one, whatever happens in between."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import tempfile
from typing import IO, TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRIVATE = 0o600
PUBLIC = 0o644


def write_atomic(path: Path, data: bytes | str, *, mode: int = PUBLIC) -> None:
    """Replace `path` in one step, durably; on any failure it stays as it was."""
    content = data.encode() if isinstance(data, str) else data
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _nameless(path.parent) as file:
            if file is None:
                temporary = _write_beside(path, content, mode)
            else:
                _fill(file, content, mode)
                temporary = _give_name(file, path)
        if temporary:
            os.replace(temporary, path)  # noqa: PTH105  (beside mkstemp, which gives a string)
    except OSError as error:
        raise TalopsError(
            f"cannot write: {error.strerror}",
            where=str(path),
            hint="check free space and permissions, then run the same command again",
        ) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108


@contextlib.contextmanager
def _nameless(folder: Path) -> Iterator[IO[bytes] | None]:
    """A file without a name: a process that is killed while it writes leaves nothing behind.

    None where the file system cannot do that.
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


def _give_name(file: IO[bytes], path: Path) -> str:
    """Its own name if nobody has it; else one beside it, from which one step is left."""
    source = f"/proc/self/fd/{file.fileno()}"
    if not path.exists():
        with contextlib.suppress(FileExistsError):
            # With a directory's descriptor, which an absolute path makes meaningless, Python
            # calls linkat and follows the link; without one it would link the link.
            os.link(source, path, src_dir_fd=file.fileno())
            return ""
    beside = f"{path.parent}/.{path.name}.{secrets.token_hex(4)}"
    os.link(source, beside, src_dir_fd=file.fileno())
    return beside


def _write_beside(path: Path, content: bytes, mode: int) -> str:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "wb") as file:
        _fill(file, content, mode)
    return temporary


def _fill(file: IO[bytes], content: bytes, mode: int) -> None:
    os.fchmod(file.fileno(), mode)
    file.write(content)
    file.flush()
    os.fsync(file.fileno())


def make_private_directory(path: Path) -> Path:
    """A directory that only its owner can look into."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(0o700)
    return path
