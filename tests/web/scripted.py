"""Sites whose looks are scripted: what the checks of talops could have answered, in their types."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx

from talops.app.access.model import Credential, Kind
from talops.app.drift.model import AreaDrift, Difference
from talops.app.status.model import Comparison, Seen
from talops.app.upgrades.versions import PartVersions, Versions
from talops.app.world.model import EtcdMember, HostStorage, RunningHost, RunningNode, World
from talops.errors import TalopsError
from talops.pipeline.checks import CheckResult, failed, passed
from talops.upgrades import path as hops
from talops.upgrades.seen import NodeSeen
from talops.upgrades.versions import Span
from talops.web.serving.application import Page
from talops.web.serving.security import Names
from talops.web.watching.looks import UNREAD, Calendar
from talops.web.watching.observer import Look
from talops.web.watching.site import WatchedSite

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from talops.inventory.model import Cluster
    from talops.web.serving.sessions import Sessions

GIB = 2**30
LOOKS = tuple(UNREAD)


def healthy(cluster: Cluster, now: datetime) -> dict[str, Any]:
    """Look → its answer, for a cluster that is as its inventory says."""
    names = cluster.node_names
    first = cluster.control_planes[0].name
    checks = ("members", "machines", "etcd", "nodes", "endpoint", "api", "certificates")
    seen = Seen(
        tuple(CheckResult(name, (passed("as it should be"),)) for name in checks),
        dict.fromkeys(names, cluster.talos_version),
        dict.fromkeys(names, cluster.kubernetes_version),
        {"kubeconfig": now + timedelta(days=300)},
        {},
        compared=Comparison(now, "drift", differs=False),
        backups=(passed("the last backup is 4 hours old"),),
    )
    hosts = cluster.proxmox.hosts if cluster.proxmox else ()
    disks = HostStorage("local-zfs", "zfspool", 900 * GIB, 500 * GIB, shared=False, active=True)
    world = World(
        {name: _running(cluster, name, vip=name == first) for name in names},
        tuple(_member(node.name, number) for number, node in enumerate(cluster.control_planes)),
        {h: RunningHost(h, True, 16, 128 * GIB, 40 * GIB, (disks,)) for h in hosts},
    )
    parts = [
        PartVersions(part, Span(wanted, wanted), wanted, wanted, "2027-12-01")
        for part, wanted in (
            (hops.Part.TALOS, cluster.talos_version),
            (hops.Part.KUBERNETES, cluster.kubernetes_version),
        )
    ]
    nodes = tuple(NodeSeen(name, cluster.talos_version, "f" * 64) for name in names)
    versions = Versions(parts[0], parts[1], nodes=nodes)
    ends = now + timedelta(days=300)
    month = timedelta(days=30)
    kept = (
        Credential("kubeconfig", Kind.CLIENT, "kubeconfig", "talops", "talops up", ends, month),
        Credential("Talos CA", Kind.CA, "the secrets", "you", "talops rotate talos-ca", ends),
        Credential("age key", Kind.KEY, "age.key", "you", "talops secrets rotate"),
    )
    layers = ("files", "proxmox", "talos", "kubernetes")
    return {
        "status": seen,
        "world": world,
        "versions": versions,
        "credentials": Calendar(kept, (), {}),
        "drift": [AreaDrift(layer) for layer in layers],
    }


def broken(cluster: Cluster, now: datetime, name: str = "") -> dict[str, Any]:
    """The same with something wrong in each part; `name`: a text that other systems chose."""
    found = healthy(cluster, now)
    what = name or "etcd has no leader"
    checks = (
        CheckResult("etcd", (failed(what, name or "cp-2", name or "talops talos etcd status"),)),
    )
    found["status"] = replace(found["status"], checks=checks, compared=None)
    last = cluster.nodes[-1].name
    world = found["world"]
    nodes = {**world.nodes, last: RunningNode(last)}
    nodes = {each: replace(node, stage=name or node.stage) for each, node in nodes.items()}
    silent = TalopsError(name or "connection refused", where=name or "10.0.0.9:50000")
    found["world"] = replace(world, nodes=nodes, unread={f"node {last}": silent})
    safe = Difference(
        "talos", name or "cp-1", "machine.sysctls", "1", name or "0", "online", "talops up", True
    )
    loud = replace(safe, attribute="machine.install", impact="restarts", safe=False)
    found["drift"] = [
        AreaDrift("proxmox", unread=(silent,)),
        AreaDrift("talos", (safe, loud), notes=(name or "a note",)),
    ]
    hop = hops.Hop(hops.Part.TALOS, "v1.12.4", cluster.talos_version)
    found["versions"] = replace(found["versions"], path=hops.Path((hop,)))
    due = Credential(
        name or "API server",
        Kind.SERVER,
        name or "10.0.0.1:6443",
        "you",
        name or "renew",
        now + timedelta(days=3),
        timedelta(days=30),
    )
    found["credentials"] = Calendar((due, *found["credentials"].credentials), (), {})
    return found


def _running(cluster: Cluster, name: str, *, vip: bool) -> RunningNode:
    return RunningNode(
        name,
        cluster.talos_version,
        "running",
        kubelet=cluster.kubernetes_version,
        ready=True,
        vip=vip,
    )


def _member(node: str, number: int) -> EtcdMember:
    leads, size = number == 0, 90 * 2**20
    return EtcdMember(node, f"{number + 7:x}", leads, False, size, size // 2, 2 * GIB, 3, 9000)


@dataclass
class Script:
    """One site: `answers` are what its looks find; an exception is raised."""

    cluster: Cluster
    root: Path
    answers: dict[str, Any]
    every: float = 60.0
    looked: list[str] = field(default_factory=list)

    def site(self) -> WatchedSite:
        looks = [self._look(name) for name in LOOKS]
        return WatchedSite(self.cluster.name, self.root, lambda: self.cluster, looks)

    def _look(self, name: str) -> Look:
        async def see() -> Any:
            self.looked.append(name)
            answer = self.answers[name]
            if isinstance(answer, Exception):
                raise answer
            return answer

        return Look(name, self.every, see, UNREAD[name])


async def looked(site: WatchedSite) -> WatchedSite:
    """Each look made once."""
    for name in LOOKS:
        await site.observer.look(name)
    site.records.refresh()
    return site


def client_of(page: Page, *, tls: bool = False, host: str = "127.0.0.1:8080") -> httpx.AsyncClient:
    """A program of this machine; a browser sends more headers."""
    application = page.application(Names(frozenset({"page.example"}), loopback=True), tls=tls)
    transport = httpx.ASGITransport(application)
    return httpx.AsyncClient(transport=transport, base_url=f"http://{host}")


@contextlib.asynccontextmanager
async def visiting(
    *scripts: Script,
    sessions: Sessions | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a page of these sites, which were looked at once."""
    sites = [await looked(script.site()) for script in scripts]
    page = Page({site.name: site for site in sites}, sessions, now)
    async with client_of(page) as client:
        yield client


async def until(condition: Callable[[], bool]) -> None:
    """Every turn of the loop; the limit of the test ends it."""
    while not condition():  # noqa: ASYNC110  (conditions of all kinds)
        await asyncio.sleep(0)
