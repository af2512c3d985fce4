"""Running, wanted and newest versions of a cluster, and the path between them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.inventory import support
from talops.upgrades.path import Part, Path, Wanted, find_path
from talops.upgrades.versions import KNOWN, Span, minor, newest, newest_release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.site.site import Site
    from talops.upgrades.seen import NodeSeen
    from talops.upgrades.versions import Releases


@dataclass(frozen=True)
class PartVersions:
    """`newest`: the newest release to which this cluster can be upgraded. `ends`: the day on which
    support of the running minor ends; empty if it has ended long ago.
    """

    part: Part
    running: Span | None
    wanted: str
    newest: str
    ends: str

    def as_dict(self) -> dict[str, Any]:
        span = self.running
        return {
            "part": str(self.part),
            "running": [span.low, span.high] if span else None,
            "wanted": self.wanted,
            "newest": self.newest,
            "end_of_support": self.ends or None,
        }


@dataclass(frozen=True)
class Versions:
    """`nodes`: what each one runs. `unread`: what of the cluster could not be read. `unlisted`: why
    the Image Factory did not list its releases; then `newest` is what talops knows.
    """

    talos: PartVersions
    kubernetes: PartVersions
    path: Path = field(default_factory=Path)
    nodes: tuple[NodeSeen, ...] = ()
    unread: tuple[TalopsError, ...] = ()
    unlisted: TalopsError | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "parts": [self.talos.as_dict(), self.kubernetes.as_dict()],
            "nodes": [
                {"name": n.name, "talos": n.talos, "schematic": n.schematic or None}
                for n in self.nodes
            ],
            "path": [
                {"part": str(hop.part), "from": hop.before, "to": hop.to} for hop in self.path.hops
            ],
            "refusals": [
                {"what": each.what, "hint": each.hint, "setting": each.setting}
                for each in self.path.refusals
            ],
            "complete": not self.unread,
            "unread": [error.as_dict() for error in self.unread],
            "factory": self.unlisted.as_dict() if self.unlisted else None,
        }


async def look(site: Site, wanted: Mapping[Part, str] | None = None) -> Versions:
    """`wanted`: instead of the versions of the inventory."""
    from talops.pipeline.stage import Reporter
    from talops.rolls.rolling import Rolling
    from talops.upgrades.kubernetes.hop import Kubernetes

    cluster = site.cluster
    asked = {
        Part.TALOS: cluster.talos_version,
        Part.KUBERNETES: cluster.kubernetes_version,
        **(wanted or {}),
    }
    nodes, unread = await _nodes(site)
    known, unlisted = await _releases(site)
    kubernetes: Span | None = None
    if nodes:
        try:
            silent = Reporter("versions", lambda _: None)
            kubernetes = await Kubernetes(site, Rolling(site), silent).look()
        except TalopsError as error:
            unread.append(error)
    talos = Span.of(each.talos for each in nodes) if nodes else None
    found = Versions(
        _talos(talos, asked[Part.TALOS], known),
        _kubernetes(kubernetes, asked, known),
        nodes=nodes,
        unread=tuple(unread),
        unlisted=unlisted,
    )
    if talos is None or kubernetes is None or unread:
        return found
    return replace(found, path=path_of(site, found, asked))


def path_of(site: Site, found: Versions, asked: Mapping[Part, str]) -> Path:
    from talops.upgrades.seen import goal_of

    talos, kubernetes = found.talos.running, found.kubernetes.running
    assert talos, "all nodes were read"
    assert kubernetes, "the API was read"
    nodes = {node.name: node for node in site.cluster.nodes}
    reimage = any(
        not each.runs(goal_of(site.cluster, nodes[each.name], asked[Part.TALOS]))
        for each in found.nodes
    )
    return find_path(talos, kubernetes, Wanted(asked[Part.TALOS], asked[Part.KUBERNETES], reimage))


async def _nodes(site: Site) -> tuple[tuple[NodeSeen, ...], list[TalopsError]]:
    from talops.site.fleet import Configured, Unreachable
    from talops.upgrades.seen import look_at_all

    fleet = await site.secrets.fleet()
    states = await fleet.look_at_all(site.cluster.nodes)
    unread: list[TalopsError] = [
        TalopsError(f"{name} does not answer: {s.error.what}", where=s.error.where)
        for name, s in states.items()
        if isinstance(s, Unreachable)
    ]
    running = [
        (node, state.config)
        for node in site.cluster.nodes
        if isinstance(state := states[node.name], Configured)
    ]
    return await look_at_all(fleet, running), unread


async def _releases(site: Site) -> tuple[Releases, TalopsError | None]:
    """What talops knows, and newer releases of the same minors that the Image Factory has."""
    from talops.talos.image_factory import ImageFactory

    cluster = site.cluster
    factory = ImageFactory(
        cluster.image_factory_url, ca_file=site.path_of(cluster.image_factory_ca_file)
    )
    try:
        listed = await factory.versions()
    except TalopsError as error:
        return KNOWN, error
    good = [each for each in listed or () if each not in KNOWN.withdrawn]
    found = {of: newest_release([*good, KNOWN.talos[of]], of) for of in KNOWN.talos}
    return replace(KNOWN, talos={of: each for of, each in found.items() if each}), None


def _talos(running: Span | None, wanted: str, known: Releases) -> PartVersions:
    ends = support.END_OF_SUPPORT_TALOS.get(minor((running or Span(wanted, wanted)).low), "")
    return PartVersions(Part.TALOS, running, wanted, newest(known.talos.values()), ends)


def _kubernetes(running: Span | None, asked: Mapping[Part, str], known: Releases) -> PartVersions:
    wanted = asked[Part.KUBERNETES]
    _, high = known.kubernetes_of.get(minor(asked[Part.TALOS]), (0, minor(wanted)))
    allowed = [release for of, release in known.kubernetes.items() if of <= high]
    ends = support.END_OF_SUPPORT_KUBERNETES.get(minor((running or Span(wanted, wanted)).low), "")
    best = newest([*allowed, wanted]) if allowed else wanted
    return PartVersions(Part.KUBERNETES, running, wanted, best, ends)
