"""Inventory ↔ machine configs of the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.app.drift.model import AreaDrift, Difference, absent
from talops.app.drift.values import leaves
from talops.errors import TalopsError
from talops.machineconfig.build import build_configs
from talops.pipeline.stage import Absent
from talops.site.fleet import Configured, Fleet, InMaintenance, Unreachable
from talops.stages.apply_config import ApplyConfig

if TYPE_CHECKING:
    from talops.pipeline.stage import Reporter
    from talops.site.node_facts import NodeFacts
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site

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

    def read_patch(name: str) -> str:
        return (site.root / name).read_text(encoding="utf-8")

    configs = build_configs(site.cluster, bundle, read_patch)
    found = [
        difference
        for name, seen in facts.nodes.items()
        for difference in judge(name, seen, configs[name].to_yaml())
    ]
    return AreaDrift(LAYER, tuple(found), unread)


def judge(name: str, seen: NodeFacts, wanted: str) -> list[Difference]:
    command = COMMAND.format(name)
    if isinstance(seen.state, InMaintenance):
        actual = "none: it is in maintenance mode"
        return [Difference(LAYER, name, "config", "as rendered", actual, "restarts", command)]
    if seen.same or not isinstance(seen.state, Configured):
        return []
    restarts = seen.reboots
    impact = "restarts" if restarts else "online"
    rows = leaves(seen.state.config, wanted) or [("config", "as rendered", "different")]
    return [
        Difference(LAYER, name, path, want, have, impact, command, safe=not restarts)
        for path, want, have in rows
    ]
