"""The endpoint of the cluster: it answers as this cluster, and one control plane holds the VIP."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.checks.after.wire import APID, certificate
from talops.errors import TalopsError
from talops.pipeline.checks import failed, from_error, passed, skipped, unproven
from talops.site.connections import errors_of, values_of
from talops.site.etcd_guard import require_etcd
from talops.talos.kinds import ADDRESSES
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from talops.inventory.model import Cluster
    from talops.pipeline.checks import Finding
    from talops.site.connections import Connections

ENOUGH_TO_MOVE = 3


async def look(connections: Connections) -> list[Finding]:
    found = [await _answers(connections)]
    if connections.site.cluster.vip is None:
        return found
    holders, unread = await _holders(connections)
    return [*found, *unread, *judge_holders(connections.site.cluster, holders)]


async def move(connections: Connections) -> list[Finding]:
    """Reboot the holder; the VIP must move to another node. Only for a healthy cluster."""
    if connections.site.cluster.vip is None:
        return [skipped("the cluster has no VIP")]
    holders, _ = await _holders(connections)
    return await _move(connections, holders)


async def _answers(connections: Connections) -> Finding:
    """The CA in the kubeconfig proves that this is the right cluster."""
    async with connections.kube() as kube:
        try:
            version = await kube.version()
        except TalopsError as error:
            return from_error(error)
    host = connections.site.cluster.endpoint_host
    kind = "the VIP" if connections.site.cluster.vip else "the only control plane"
    return passed(f"{kind} {host} answers with Kubernetes {version}")


async def _holders(connections: Connections) -> tuple[list[str], list[Finding]]:
    planes = connections.site.cluster.control_planes
    answers = await connections.ask(planes, lambda talos: talos.resources.all(ADDRESSES))
    vip = str(connections.site.cluster.vip)
    holders = [
        name
        for name, rows in values_of(answers).items()
        if any(row.address.partition("/")[0] == vip for row in rows)
    ]
    unread = [from_error(error) for error in errors_of(answers).values()]
    return holders or await _by_certificate(connections), unread


async def _by_certificate(connections: Connections) -> list[str]:
    """The holder of the VIP presents the certificate of its own apid."""
    planes = connections.site.cluster.control_planes
    places = [str(connections.site.cluster.vip), *(str(node.address) for node in planes)]
    shown, *own = await asyncio.gather(
        *(certificate(place, APID) for place in places), return_exceptions=True
    )
    if not isinstance(shown, bytes):
        return []
    return [node.name for node, theirs in zip(planes, own, strict=True) if theirs == shown]


def judge_holders(cluster: Cluster, holders: list[str]) -> list[Finding]:
    if len(holders) == 1:
        return [passed(f"{holders[0]} holds the VIP {cluster.vip}")]
    if holders:
        names = ", ".join(holders)
        return [failed(f"{len(holders)} control planes hold the VIP {cluster.vip}: {names}")]
    return [unproven(f"cannot tell which control plane holds the VIP {cluster.vip}")]


async def _move(connections: Connections, holders: list[str]) -> list[Finding]:
    cluster = connections.site.cluster
    if len(cluster.control_planes) < ENOUGH_TO_MOVE:
        count = len(cluster.control_planes)
        return [
            unproven(
                f"the VIP was not moved: with {count} control planes etcd stops when the holder "
                "reboots"
            )
        ]
    if not holders:
        return [unproven("the VIP was not moved: its holder is unknown")]
    before = holders[0]
    node = next(node for node in cluster.control_planes if node.name == before)
    fleet = await connections.fleet()
    await require_etcd(fleet, cluster.control_planes, node)
    async with fleet.talos(node) as talos:
        boot = await talos.files.boot_id()
        await talos.machine.reboot()

    async def moved() -> Ready[str] | NotYet:
        now, _ = await _holders(connections)
        others = [name for name in now if name != before]
        if not others:
            return NotYet(f"{before} still holds it" if now else "no control plane holds it")
        answer = await _answers(connections)
        return Ready(others[0]) if answer.verdict == "passed" else NotYet(answer.what)

    async def back() -> Ready[None] | NotYet:
        async with (await connections.fleet()).talos(node) as talos:
            same = await talos.files.boot_id() == boot
        return NotYet("it has not rebooted yet") if same else Ready(None)

    limits = connections.site.limits
    after, _ = await asyncio.gather(
        wait_for("the VIP to move", moved, timeout=limits.boot, interval=limits.interval),
        wait_for(f"{before} to come back", back, timeout=limits.install, interval=limits.interval),
    )
    return [passed(f"the VIP moved from {before} to {after} when {before} rebooted")]
