"""Record of the VMs that talops is creating. A VM whose creation did not finish is not a node yet:
the next run may import or replace it without confirmation. This applies only to addresses in this
file, and each is removed when its creation finishes. An entry expires, so that an old file
never opens a VM that was finished long ago.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.files import PRIVATE, write_atomic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from talops.tofu.plan import Change, Plan

CREATING = "creating"
ADOPTED = "adopted"
# Longer than any creation, and than a user waits before the next attempt.
LIFETIME = timedelta(hours=24)
_KEY = re.compile(r'\["([^"]+)"\]')


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Entry:
    stage: str
    since: datetime

    def as_dict(self) -> dict[str, str]:
        return {"stage": self.stage, "since": self.since.isoformat(timespec="seconds")}


class CreationRecord:
    """Addresses and their state: `creating`, or `adopted` (imported while incomplete)."""

    def __init__(self, path: Path, now: Callable[[], datetime] = _now) -> None:
        self._path = path
        self._now = now

    def read(self) -> dict[str, str]:
        return {address: entry.stage for address, entry in self._entries().items()}

    def names(self) -> frozenset[str]:
        """The keys of their modules, which are the names in the inventory."""
        keys = (_KEY.search(address) for address in self.read())
        return frozenset(found[1] for found in keys if found)

    def fresh(self, plan: Plan) -> frozenset[str]:
        """The unfinished ones: this plan would create them, or they are incomplete."""
        known = self.read()
        return frozenset(c.address for c in plan.acts if c.address in known and _unfinished(c))

    def write(self, addresses: Iterable[str], stage: str = CREATING) -> None:
        """Record them before the first one is created."""
        entry = Entry(stage, self._now())
        self._save({**self._entries(), **dict.fromkeys(addresses, entry)})

    def keep_only(self, addresses: Iterable[str]) -> None:
        known = self._entries()
        self._save({address: known[address] for address in addresses if address in known})

    def finished(self, address: str) -> None:
        """Its creation finished: remove it from the record."""
        known = self._entries()
        if known.pop(address, None):
            self._save(known)

    def _entries(self) -> dict[str, Entry]:
        """Those that have not expired; an entry without a time was written by an older version."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            entries = {
                str(address): Entry(str(e["stage"]), datetime.fromisoformat(e["since"]))
                for address, e in found.items()
                if isinstance(e, dict)
            }
            now = self._now()
            return {a: e for a, e in entries.items() if abs(now - e.since) < LIFETIME}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise TalopsError(
                f"cannot be read: {error}",
                where=str(self._path),
                hint="remove the file; then unfinished VMs require --allow-replace",
            ) from error

    def _save(self, entries: dict[str, Entry]) -> None:
        if entries:
            content = {address: entry.as_dict() for address, entry in entries.items()}
            write_atomic(self._path, json.dumps(content, indent=2) + "\n", mode=PRIVATE)
        else:
            self._path.unlink(missing_ok=True)


def _unfinished(change: Change) -> bool:
    """The plan itself must show it: the VM does not exist, is tainted, or was never started."""
    return change.actions == ("create",) or "tainted" in change.reason or change.off
