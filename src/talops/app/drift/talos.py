"""Inventory ↔ machine configs of the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.app.drift.model import SET_VERSION, UPGRADES, AreaDrift, Difference, absent
from talops.app.drift.values import leaves
from talops.errors import TalopsError
from talops.machineconfig.cost_table import Cost
from talops.machineconfig.kubernetes_images import numbers
from talops.pipeline.stage import Absent
from talops.site.fleet import Configured, Fleet, InMaintenance, Unreachable
from talops.stages.apply_config import ApplyConfig
from talops.upgrades.seen import look_at_all
from talops.upgrades.versions import key

if TYPE_CHECKING:
    from talops.inventory.model import Cluster
    from talops.machineconfig.kubernetes_images import Held
    from talops.pipeline.stage import Reporter
    from talops.site.node_facts import NodeFacts
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site
    from talops.upgrades.seen import NodeSeen

LAYER = "talos"
COMMAND = "talops up --only apply-config --nodes '^{}$'"


async def look(site: Site, secrets: SecretsFile, report: Reporter) -> AreaDrift:
    bundle = await secrets.read()
    if bundle is None:
        return absent(LAYER, Absent("configure", "the cluster has no secrets yet"))
    states = await Fleet(bundle).look_at_all(site.cluster.nodes)
    silent = {name: s.error for name, s in states.items() if isinstance(s, Unreachable)}
    answering = [name for name in states if name not in silent]
    unread = tuple(
        TalopsError(f"{name} does not answer: {error.what}", where=error.where, hint=error.hint)
        for name, error in silent.items()
    )
    if not answering:
        return AreaDrift(LAYER, unread=unread)
    facts = await ApplyConfig(site.only(answering), secrets, report).observe()
    if isinstance(facts, Absent):
        return absent(LAYER, facts)
    configs = [difference for name, seen in facts.nodes.items() for difference in judge(name, seen)]
    running = [
        (node, state.config)
        for node in site.cluster.nodes
        if isinstance(state := states[node.name], Configured)
    ]
    systems = await look_at_all(await secrets.fleet(), running)
    found = [d for each in systems for d in system(site.cluster, each)]
    return AreaDrift(LAYER, (*found, *configs), unread)


def system(cluster: Cluster, seen: NodeSeen) -> list[Difference]:
    """Which Talos runs, and with which extensions."""
    node = next(node for node in cluster.nodes if node.name == seen.name)
    wanted, newer = cluster.talos_version, key(seen.talos) > key(cluster.talos_version)
    command = f"talops rollback {seen.name}" if newer else "talops up"
    rows = [
        ("Talos", wanted, seen.talos, command),
        ("schematic", node.image.schematic, seen.schematic or "nothing", "talops up"),
    ]
    return [
        Difference(LAYER, seen.name, attribute, want, have, UPGRADES, how)
        for attribute, want, have, how in rows
        if want != have
    ]


def judge(name: str, seen: NodeFacts) -> list[Difference]:
    command = COMMAND.format(name)
    if isinstance(seen.state, InMaintenance):
        actual = "none: it is in maintenance mode"
        return [Difference(LAYER, name, "config", "as rendered", actual, "restarts", command)]
    if not isinstance(seen.state, Configured):
        return []
    versions = [_version(name, held) for held in seen.held]
    if seen.same:
        return versions
    refused = bool(seen.others or seen.paths(Cost.FIXED))
    restarts = seen.reboots or refused
    impact = "restarts" if restarts else "online"
    rows = leaves(seen.state.config, seen.wanted) or [("config", "as rendered", "different")]
    return versions + [
        Difference(LAYER, name, path, want, have, impact, command, safe=not restarts)
        for path, want, have in rows
    ]


def _version(name: str, held: Held) -> Difference:
    """An upgrade raises it; a version that someone else raised is never lowered."""
    newer = numbers(held.running) > numbers(held.wanted)
    command = SET_VERSION.format(held.running) if newer else "talops up"
    return Difference(LAYER, name, held.component, held.wanted, held.running, UPGRADES, command)
