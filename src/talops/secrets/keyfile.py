"""The key file of a rotation, changed in place: there is never a second file with a key.

An atomic replace needs a second file until the rename; a process that is killed right before it
leaves a key in a temporary file. A rotation avoids this: it appends the new key, and at the end
overwrites every old key with a comment of the same length. Each is one write within a page of
memory, which no signal can interrupt; a power failure during it cannot damage the key in use,
because its bytes do not change.
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING

from talops.files import PRIVATE, writing
from talops.secrets.age import ROTATION_MARK, AgeKey, entry, key_of_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_DONE = "# talops: rotated to this key"


def add(path: Path, new: AgeKey) -> None:
    """Start a rotation to `new`; the existing keys stay unchanged."""
    with _opened(path) as file:
        before = _content(file)
        gap = b"" if before.endswith(b"\n") else b"\n"
        _write(file, len(before), gap + entry(new, mark=True).encode())


def keep_only(path: Path, new: AgeKey) -> None:
    """Finish the rotation: replace every other key with a comment that names its recipient."""
    with _opened(path) as file:
        lines = _content(file).splitlines(keepends=True)
        _write(file, 0, b"".join(_without_others(line, new) for line in lines))


def _without_others(line: bytes, new: AgeKey) -> bytes:
    body = line.rstrip(b"\r\n")
    text = body.decode()
    if text.strip() == ROTATION_MARK:
        replaced = _DONE
    elif (key := key_of_line(text)) and key != new:
        replaced = f"# dropped: {key.recipient}"
    else:
        return line
    return replaced.encode().ljust(len(body)) + line[len(body) :]


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    with writing(path):
        file = os.open(path, os.O_RDWR)
        try:
            os.fchmod(file, PRIVATE)
            yield file
        finally:
            os.close(file)


def _content(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)


def _write(file: int, offset: int, content: bytes) -> None:
    size = os.fstat(file).st_size
    if os.pwrite(file, content, offset) < len(content):
        os.ftruncate(file, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(file)
