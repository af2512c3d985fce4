"""The hops from the versions that run to those that are wanted. Pure.

Talos goes from minor to minor, each at its newest known release, and so does Kubernetes.
At any time each running Talos must support the running Kubernetes and the one that it changes to.
Where the order is free, Talos goes first, unless that passes a pair that is not in the support
matrix of Talos.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from talops.upgrades.versions import KNOWN, Span, key, minor, newest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.upgrades.versions import Releases


class Part(StrEnum):
    TALOS = "Talos"
    KUBERNETES = "Kubernetes"


# The key of cluster.yaml that says which version is wanted.
SETTING = {Part.TALOS: "talos_version", Part.KUBERNETES: "kubernetes_version"}


@dataclass(frozen=True)
class Hop:
    """One upgrade of the whole cluster. `before`: the oldest version that runs until then.

    Between equal versions of Talos only the schematic changes.
    """

    part: Part
    before: str
    to: str

    def __str__(self) -> str:
        if self.before == self.to:
            return f"{self.part} {self.to} with other extensions"
        return f"{self.part} {self.before} → {self.to}"


@dataclass(frozen=True)
class Refusal:
    """Why the wanted version cannot be reached, and what to change."""

    what: str
    hint: str
    setting: str


@dataclass(frozen=True)
class Wanted:
    """`reimage`: nodes run another schematic than the inventory says."""

    talos: str
    kubernetes: str
    reimage: bool = False


@dataclass(frozen=True)
class Path:
    """Either hops or refusals, never both. `untested`: hops that pass an untested pair."""

    hops: tuple[Hop, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    untested: tuple[str, ...] = ()


def find_path(talos: Span, kubernetes: Span, wanted: Wanted, known: Releases = KNOWN) -> Path:
    """What runs comes from the world: an interrupted upgrade leaves two versions."""
    refusals = [
        *_refused(Part.TALOS, talos, wanted.talos, known),
        *_refused(Part.KUBERNETES, kubernetes, wanted.kubernetes, known),
    ]
    refusals = refusals or [
        *_mismatch(wanted, known),
        *_gaps(Part.TALOS, talos, wanted.talos, known.talos),
        *_gaps(Part.KUBERNETES, kubernetes, wanted.kubernetes, known.kubernetes),
    ]
    if refusals:
        return Path(refusals=tuple(refusals))
    grid = _Grid(
        _stops(talos, wanted.talos, known.talos),
        _stops(kubernetes, wanted.kubernetes, known.kubernetes),
        talos.high,
        known,
    )
    order = grid.order()
    if order is None:
        return Path(refusals=(_no_order(talos, kubernetes, wanted),))
    hops = grid.hops(order)
    if wanted.reimage and not any(hop.part is Part.TALOS for hop in hops):
        hops = (*hops, Hop(Part.TALOS, wanted.talos, wanted.talos))
    return Path(hops, untested=grid.untested(order))


def _refused(part: Part, running: Span, wanted: str, known: Releases) -> list[Refusal]:
    setting = SETTING[part]
    if key(wanted) < key(running.high):
        text = f"{part} {running.high} runs, which is newer than {wanted}"
        hint = f"set {setting}: {running.high}"
        if part is Part.TALOS:
            hint += "; or, for a node that was upgraded last: talops rollback NODE"
        return [Refusal(text, hint, setting)]
    if part is Part.KUBERNETES:
        return []
    if minor(wanted) not in known.kubernetes_of:
        return [
            Refusal(
                f"{part} {wanted} is not supported",
                f"set {setting}: {newest(known.talos.values())}",
                setting,
            )
        ]
    if wanted in known.withdrawn and key(running.low) < key(wanted):
        return [
            Refusal(
                f"{part} {wanted} must not be used: {known.withdrawn[wanted]}",
                f"set {setting}: {known.talos[minor(wanted)]}",
                setting,
            )
        ]
    return []


def _mismatch(wanted: Wanted, known: Releases) -> list[Refusal]:
    if known.supports(wanted.talos, wanted.kubernetes):
        return []
    low, high = known.kubernetes_of[minor(wanted.talos)]
    return [
        Refusal(
            f"Talos {wanted.talos} does not support Kubernetes {wanted.kubernetes}",
            f"set kubernetes_version to a release of 1.{low} to 1.{high}",
            SETTING[Part.KUBERNETES],
        )
    ]


def _gaps(part: Part, running: Span, wanted: str, releases: Mapping[int, str]) -> list[Refusal]:
    """Minors in between of which no release is known."""
    return [
        Refusal(
            f"the upgrade passes through {part} 1.{between}, of which talops knows no release",
            f"set {SETTING[part]} to a release of 1.{between} first, run talops up, then continue",
            SETTING[part],
        )
        for between in _between(running, wanted)
        if between not in releases and between != minor(running.high)
    ]


def _between(running: Span, wanted: str) -> range:
    return range(minor(running.low) + 1, minor(wanted))


def _stops(running: Span, wanted: str, releases: Mapping[int, str]) -> tuple[str, ...]:
    """What runs, then each version in between. A node that is ahead is not pulled back."""
    stops = [running.low]
    for between in _between(running, wanted):
        found = [releases[between]] if between in releases else []
        if minor(running.high) == between:
            found.append(running.high)
        stops.append(newest(found))
    if key(wanted) > key(running.low):
        stops.append(wanted)
    return tuple(stops)


class _Grid:
    """Positions (number of Talos hops done, number of Kubernetes hops done)."""

    def __init__(
        self, talos: tuple[str, ...], kubernetes: tuple[str, ...], ahead: str, known: Releases
    ) -> None:
        self._talos = talos
        self._kubernetes = kubernetes
        # The newest Talos that runs already, on nodes that were upgraded before the others.
        self._ahead = ahead
        self._known = known

    def order(self) -> tuple[Part, ...] | None:
        """The order with the fewest untested pairs; None if no order is allowed."""
        ends = len(self._talos) - 1, len(self._kubernetes) - 1

        @cache
        def best(done: int, changed: int) -> tuple[int, tuple[Part, ...]] | None:
            if (done, changed) == ends:
                return 0, ()
            found: list[tuple[int, tuple[Part, ...]]] = []
            for part in Part:
                after = (done + (part is Part.TALOS), changed + (part is Part.KUBERNETES))
                if after[0] > ends[0] or after[1] > ends[1] or not self._allowed(*after):
                    continue
                rest = best(*after)
                if rest is not None:
                    found.append((rest[0] + self._is_untested(*after), (part, *rest[1])))
            return min(found, key=lambda each: each[0], default=None)

        order = best(0, 0)
        return order[1] if order else None

    def hops(self, order: tuple[Part, ...]) -> tuple[Hop, ...]:
        rows = {Part.TALOS: iter(self._talos), Part.KUBERNETES: iter(self._kubernetes)}
        now = {part: next(row) for part, row in rows.items()}
        hops = []
        for part in order:
            before, now[part] = now[part], next(rows[part])
            hops.append(Hop(part, before, now[part]))
        return tuple(hops)

    def untested(self, order: tuple[Part, ...]) -> tuple[str, ...]:
        found, done, changed = [], 0, 0
        for part in order:
            done, changed = done + (part is Part.TALOS), changed + (part is Part.KUBERNETES)
            if self._is_untested(done, changed):
                pair = f"Kubernetes {self._kubernetes[changed]} on Talos {self._talos[done]}"
                found.append(pair)
        return tuple(found)

    def _allowed(self, done: int, changed: int) -> bool:
        """Both sides of a hop are supported: what runs now needs no permission to be left."""
        versions = {self._talos[done], newest([self._talos[done], self._ahead])}
        return all(self._known.supports(each, self._kubernetes[changed]) for each in versions)

    def _is_untested(self, done: int, changed: int) -> bool:
        return not self._known.tests(self._talos[done], self._kubernetes[changed])


def _no_order(talos: Span, kubernetes: Span, wanted: Wanted) -> Refusal:
    return Refusal(
        f"no order of upgrades leads from Talos {talos.low} with Kubernetes {kubernetes.low} to "
        f"Talos {wanted.talos} with Kubernetes {wanted.kubernetes}",
        "choose versions that are one minor newer than those that run, then continue from there",
        SETTING[Part.TALOS],
    )
