"""Files that only the server's user may read or change: keys and the users file."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from talops.errors import DeniedError

if TYPE_CHECKING:
    from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def require_private(path: Path, what: str) -> None:
    """Refuse a file that other users of this machine can read or change.

    A file of root may be readable by a group, as orchestrators mount secrets.
    """
    found = path.stat()
    loose = found.st_mode & _OTHERS
    if found.st_uid == 0:
        loose &= ~stat.S_IRGRP
    if loose:
        raise DeniedError(
            f"other users can access {what} (mode {stat.S_IMODE(found.st_mode):04o})",
            where=str(path),
            hint=f"chmod 600 {path}",
        )
    if found.st_uid not in {0, os.geteuid()}:
        raise DeniedError(
            f"{what} belongs to another user",
            where=str(path),
            hint="use a file of the user that runs the server",
        )
