"""Files that are either the old one or the new one, whatever happens in between."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from pathlib import Path

PRIVATE = 0o600
PUBLIC = 0o644


def write_atomic(path: Path, data: bytes | str, *, mode: int = PUBLIC) -> None:
    """Replace `path` in one step, durably; on any failure it stays as it was."""
    content = data.encode() if isinstance(data, str) else data
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
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


def make_private_directory(path: Path) -> Path:
    """A directory that only its owner can look into."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(0o700)
    return path
