"""Record of the VMs that talops is creating. A VM whose creation did not finish is not a node yet:
the next run may import or replace it without confirmation. This applies only to addresses in this
file, and each is removed when its creation finishes.
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
    """Addresses and their state: `creating`, or `adopted` (imported while incomplete)."""

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
                hint="remove the file; then unfinished VMs require --allow-replace",
            ) from error
        return {str(address): str(stage) for address, stage in found.items()}

    def names(self) -> frozenset[str]:
        """The keys of their modules, which are the names in the inventory."""
        keys = (_KEY.search(address) for address in self.read())
        return frozenset(found[1] for found in keys if found)

    def fresh(self, plan: Plan) -> frozenset[str]:
        """The unfinished ones: this plan would create them, or they are incomplete."""
        known = self.read()
        unfinished = {
            change.address
            for change in plan.acts
            if change.actions == ("create",) or "tainted" in change.reason
        }
        return frozenset(a for a, stage in known.items() if stage == ADOPTED or a in unfinished)

    def write(self, addresses: Iterable[str], stage: str = CREATING) -> None:
        """Record them before the first one is created."""
        self._save({**self.read(), **dict.fromkeys(addresses, stage)})

    def keep_only(self, addresses: Iterable[str]) -> None:
        known = self.read()
        self._save({address: known[address] for address in addresses if address in known})

    def finished(self, address: str) -> None:
        """Its creation finished: remove it from the record."""
        known = self.read()
        if known.pop(address, None):
            self._save(known)

    def _save(self, entries: dict[str, str]) -> None:
        if entries:
            write_atomic(self._path, json.dumps(entries, indent=2) + "\n", mode=PRIVATE)
        else:
            self._path.unlink(missing_ok=True)
