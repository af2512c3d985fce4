"""The views of a site: which document each shows, and from which panels it is made."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.pipeline.compare import compare
from talops.pipeline.history import find_run
from talops.web.documents import (
    calendar,
    capacity,
    drift,
    etcd,
    overview,
    runs,
    topology,
    versions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from talops.web.watching.site import WatchedSite


@dataclass(frozen=True)
class View:
    """`panels`: whose changes can change this view. `make`: its document."""

    name: str
    title: str
    panels: tuple[str, ...]
    make: Callable[[WatchedSite, Mapping[str, str], datetime], dict[str, Any]]
    template: str = ""
    in_menu: bool = True

    @property
    def file(self) -> str:
        return self.template or f"{self.name}.html.j2"


def _overview(site: WatchedSite, _: Mapping[str, str], now: datetime) -> dict[str, Any]:
    cluster = site.inventory()
    wanted = {"talos": cluster.talos_version, "kubernetes": cluster.kubernetes_version}
    return overview.overview(cluster.name, wanted, site.panels, now)


def _topology(site: WatchedSite, query: Mapping[str, str], now: datetime) -> dict[str, Any]:
    return topology.topology(site.inventory(), site.panels["world"], query.get("failing", ""), now)


def _drift(site: WatchedSite, _: Mapping[str, str], now: datetime) -> dict[str, Any]:
    return drift.drift(site.inventory().name, site.panels["drift"], site.differences, now)


def _versions(site: WatchedSite, _: Mapping[str, str], now: datetime) -> dict[str, Any]:
    name = site.inventory().name
    return versions.versions(name, site.panels["versions"], site.panels["world"], now)


def _calendar(site: WatchedSite, _: Mapping[str, str], now: datetime) -> dict[str, Any]:
    found = site.panels
    return calendar.calendar(
        site.inventory().name, found["credentials"], found["versions"], found["status"], now
    )


def _capacity(site: WatchedSite, _: Mapping[str, str], now: datetime) -> dict[str, Any]:
    return capacity.capacity(site.inventory(), site.panels["world"], now)


def _etcd(site: WatchedSite, _: Mapping[str, str], now: datetime) -> dict[str, Any]:
    return etcd.etcd(site.inventory().name, site.panels["world"], list(site.leaders), now)


def _runs(site: WatchedSite, _: Mapping[str, str], now: datetime) -> dict[str, Any]:
    return runs.runs(site.inventory().name, site.records.list, now)


def _run(site: WatchedSite, query: Mapping[str, str], now: datetime) -> dict[str, Any]:
    return runs.run(site.inventory().name, site.records.view(query.get("run", "last")), now)


def _comparison(site: WatchedSite, query: Mapping[str, str], now: datetime) -> dict[str, Any]:
    if not query.get("before"):
        raise TalopsError("two runs are compared", hint="choose the one before in the list of runs")
    before = find_run(site.records.home, query["before"])
    after = find_run(site.records.home, query.get("after") or "last")
    return runs.comparison(site.inventory().name, compare(before, after), now)


ALL = ("status", "world", "drift", "versions", "credentials")
VIEWS = {
    view.name: view
    for view in (
        View("overview", "Overview", ALL, _overview),
        View("topology", "Topology", ("world",), _topology),
        View("drift", "Drift", ("drift",), _drift),
        View("versions", "Versions", ("versions", "world"), _versions),
        View("runs", "Runs", ("runs",), _runs),
        View("calendar", "Calendar", ("credentials", "versions", "status"), _calendar),
        View("capacity", "Capacity", ("world",), _capacity),
        View("etcd", "etcd", ("world",), _etcd),
        View("run", "Run", ("runs",), _run, "run_page.html.j2", in_menu=False),
        View("comparison", "Comparison", ("runs",), _comparison, in_menu=False),
    )
}
# What differs between two documents of the same content.
_PASSING = frozenset({"ages", "time"})


def digest(document: Mapping[str, Any]) -> str:
    """Equal for documents that differ in their ages only."""
    kept = {key: value for key, value in document.items() if key not in _PASSING}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, default=str).encode()).hexdigest()


class Documents:
    """Each document is made once per change of its site, for all clients."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._made: dict[tuple[str, ...], tuple[int, dict[str, Any], str]] = {}

    def of(
        self, site: WatchedSite, view: View, query: Mapping[str, str]
    ) -> tuple[dict[str, Any], str]:
        """The document with its digest."""
        key = (site.name, view.name, *sorted(f"{k}={v}" for k, v in query.items()))
        known = self._made.get(key)
        if known and known[0] == site.changes.version and not self._aged(known[1]):
            return known[1], known[2]
        document = view.make(site, query, self._now())
        if len(self._made) > _MOST:
            self._made.clear()
        self._made[key] = (site.changes.version, document, digest(document))
        return document, self._made[key][2]

    def _aged(self, document: Mapping[str, Any]) -> bool:
        """Ages and texts like "2 hours ago" pass without a look."""
        made = document["time"]
        return (self._now().timestamp() - _seconds(made)) > _LASTS


_MOST, _LASTS = 64, 5.0


def _seconds(stamp: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(stamp).timestamp()
