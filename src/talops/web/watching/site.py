"""One site with its observer and its records, and what follows from several looks."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.web.documents.drift import name_of
from talops.web.watching.changes import Changes
from talops.web.watching.observer import Observer
from talops.web.watching.records import Records

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from talops.inventory.model import Cluster
    from talops.web.watching.observer import Look
    from talops.web.watching.panel import Panel

MOST_LEADERS = 50


class WatchedSite:
    """`inventory` is the cluster as its two files say now."""

    def __init__(
        self,
        name: str,
        root: Path,
        inventory: Callable[[], Cluster],
        looks: Sequence[Look],
    ) -> None:
        self.name, self.root, self.inventory = name, root, inventory
        self.changes = Changes()
        self.observer = Observer(looks, self.changes, after=self._after)
        self.records = Records(root, self.changes, time.time)
        # When each difference was seen for the first time, and who led etcd from when on.
        self.differences: dict[str, str] = {}
        self.leaders: deque[tuple[datetime, str]] = deque(maxlen=MOST_LEADERS)

    @property
    def panels(self) -> dict[str, Panel]:
        return self.observer.panels

    async def run(self) -> None:
        """Until it is cancelled."""
        await asyncio.gather(self.observer.run(), self.records.watch())

    def _after(self, panel: Panel) -> None:
        if panel.name == "drift":
            found = [name_of(each) for area in panel.value for each in area.differences]
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self.differences = {name: self.differences.get(name, now) for name in found}
        if panel.name == "world" and (leader := panel.value.leader):
            last = self.leaders[-1][1] if self.leaders else ""
            if leader != last:
                self.leaders.append((datetime.now(UTC), leader))
