"""What talops was about to create when it was stopped.

A VM whose creation never finished is not somebody's node yet: the next run may adopt it or make it
anew without being asked. Only addresses that stand in this file enjoy that, and none stays in it
longer than its creation takes.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.files import PRIVATE, write_atomic

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from talops.tofu.plan import Plan

CREATING = "creating"
ADOPTED = "adopted"
_KEY = re.compile(r'\["([^"]+)"\]')


class Diary:
    """Addresses and how far they are: `creating`, or `adopted` into the state half-made."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, str]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise TalopsError(
                f"cannot be read: {error}",
                where=str(self._path),
                hint="remove the file; unfinished VMs then have to be named",
            ) from error
        return {str(address): str(stage) for address, stage in found.items()}

    def names(self) -> frozenset[str]:
        """The keys of their modules: what the inventory calls them."""
        keys = (_KEY.search(address) for address in self.read())
        return frozenset(found[1] for found in keys if found)

    def fresh(self, plan: Plan) -> frozenset[str]:
        """Those that really are unfinished: this plan would create them, or they are half-made."""
        known = self.read()
        unfinished = {
            change.address
            for change in plan.acts
            if change.actions == ("create",) or "tainted" in change.reason
        }
        return frozenset(a for a, stage in known.items() if stage == ADOPTED or a in unfinished)

    def write(self, addresses: Iterable[str], stage: str = CREATING) -> None:
        """Remember them before the first of them is made."""
        self._save({**self.read(), **dict.fromkeys(addresses, stage)})

    def keep_only(self, addresses: Iterable[str]) -> None:
        known = self.read()
        self._save({address: known[address] for address in addresses if address in known})

    def finished(self, address: str) -> None:
        """It came to life: from now on it is a VM like any other."""
        known = self.read()
        if known.pop(address, None):
            self._save(known)

    def _save(self, entries: dict[str, str]) -> None:
        if entries:
            write_atomic(self._path, json.dumps(entries, indent=2) + "\n", mode=PRIVATE)
        else:
            self._path.unlink(missing_ok=True)
