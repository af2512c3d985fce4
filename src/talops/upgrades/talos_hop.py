"""One hop of Talos: every node that is behind, one after the other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.machineconfig.from_inventory import has_nvidia
from talops.rolls.marks import mark_of
from talops.rolls.turn import Turn
from talops.upgrades import breaking
from talops.upgrades.nvidia import leftovers
from talops.upgrades.pulling import pull_on_all
from talops.upgrades.seen import goal_of, look_at
from talops.upgrades.talos_turn import TalosTurn
from talops.upgrades.versions import key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from talops.inventory.model import Cluster, Node
    from talops.pipeline.stage import Reporter
    from talops.rolls.roller import Roller
    from talops.site.fleet import Fleet
    from talops.site.site import Site
    from talops.upgrades.breaking import Breakage, Move
    from talops.upgrades.seen import NodeSeen

CMDLINE = "/proc/cmdline"


def behind(cluster: Cluster, seen: Iterable[NodeSeen], to: str) -> list[str]:
    """Nodes that this hop upgrades: a node that is ahead of an intermediate version stays."""
    nodes = {node.name: node for node in cluster.nodes}
    return [
        each.name
        for each in seen
        if key(each.talos) < key(to)
        or (each.talos == to and not each.runs(goal_of(cluster, nodes[each.name], to)))
    ]


class TalosHop:
    def __init__(self, site: Site, fleet: Fleet, roller: Roller, report: Reporter) -> None:
        self._site = site
        self._fleet = fleet
        self._roller = roller
        self._report = report

    async def run(self, to: str) -> None:
        """Safe to repeat: nodes that run it are left alone."""
        cluster, chosen = self._site.cluster, self._site.chosen
        seen = await asyncio.gather(*(look_at(self._fleet, node) for node in chosen))
        names = behind(cluster, seen, to)
        before = {each.name: each for each in seen}
        turns = [
            TalosTurn(
                node,
                before[node.name],
                goal_of(cluster, node, to),
                self._fleet,
                self._site.limits,
                self._report,
            )
            for node in chosen
            if node.name in names
        ]
        await pull_on_all(self._fleet, [(t.node, t.goal.image) for t in turns], self._report)
        every = [*await self._returning(names), *(turn.turn() for turn in turns)]
        await self._roller.roll(every, self._report, canary=True)

    async def _returning(self, behind: Collection[str]) -> list[Turn]:
        """Nodes that an interrupted roll has upgraded, and that still have to return to service."""
        seen = await self._roller.kube.nodes()
        return [
            Turn(node, mark.reason)
            for node in self._site.chosen
            if node.name in seen
            if node.name not in behind and (mark := mark_of(seen[node.name]))
        ]

    async def findings(self, seen: Iterable[NodeSeen], to: str) -> list[Breakage]:
        """What the way to this version breaks on these nodes."""
        nodes = {node.name: node for node in self._site.cluster.nodes}
        moves = await asyncio.gather(*(self._move(nodes[each.name], each, to) for each in seen))
        found = [finding for move in moves for finding in breaking.findings(move)]
        nvidia = [move.name for move in moves if move.nvidia and move.enters(breaking.CDI)]
        return found + (await leftovers(self._roller.kube, nvidia) if nvidia else [])

    async def _move(self, node: Node, seen: NodeSeen, to: str) -> Move:
        arguments = b""
        if breaking.KERNEL_ARGUMENTS in seen.config:
            async with self._fleet.talos(node) as talos:
                arguments = await talos.files.read(CMDLINE)
        return breaking.Move(
            node.name,
            seen.talos,
            to,
            seen.config,
            node.controller,
            has_nvidia(node),
            frozenset(arguments.decode().split()),
        )
