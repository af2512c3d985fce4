"""What talops was about to create when it was stopped.

A VM whose creation never finished is not somebody's node yet: the next run may adopt it or make it
anew without being asked. Only addresses that stand in this file enjoy that.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.files import PRIVATE, write_atomic

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Diary:
    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> frozenset[str]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return frozenset()
        except (OSError, ValueError) as error:
            raise TalopsError(
                f"cannot be read: {error}",
                where=str(self._path),
                hint="remove the file; unfinished VMs then have to be named",
            ) from error
        return frozenset(str(address) for address in found)

    def begin(self, addresses: Iterable[str]) -> None:
        """Remember them before the first of them is made."""
        known = self.read() | frozenset(addresses)
        if known:
            write_atomic(self._path, json.dumps(sorted(known), indent=2) + "\n", mode=PRIVATE)

    def done(self) -> None:
        """All of them came to life."""
        self._path.unlink(missing_ok=True)
