"""A directory with an inventory, and three control planes that answer what a test says."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.talos.conftest import Authority, FakeNode, data, server_context, serving

from talops.inventory.load import load
from talops.machineconfig.secrets.bundle import generate
from talops.secrets.age import AgeKey, KeyRing
from talops.secrets.rules import rules_text
from talops.secrets.sops import Sops
from talops.site.secrets_file import new_secrets
from talops.site.site import Site
from talops.talos.client import Talos
from talops.talos.wire import machine_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.inventory.model import Node

KEY = AgeKey.generate()
NAMES = ("cp-1", "cp-2", "cp-3")
CLUSTER = """\
cluster_name: lab
talos_version: v1.14.1
kubernetes_version: v1.37.0
node_cidr: 10.0.0.0/24
cluster_api_addr: 10.0.0.250
"""
MACS = "BC:24:11:00:00:0"


class Planes:
    """The fleet of a site: its connections lead to the fake nodes."""

    def __init__(self, nodes: dict[str, FakeNode], authority: Authority) -> None:
        self.nodes = nodes
        self._authority = authority

    def talos(self, node: Node) -> Talos:
        access = self._authority.credentials()
        return Talos.connect("127.0.0.1", access, port=self.nodes[node.name].port)

    fresh = talos


class Lab:
    def __init__(self, root: Path, planes: Planes) -> None:
        self.root, self.planes = root, planes

    @property
    def nodes(self) -> dict[str, FakeNode]:
        return self.planes.nodes

    @property
    def store(self) -> Path:
        return self.root / "backups" / "lab"

    def site(self, keys: KeyRing | None = None) -> Site:
        ring = keys or KeyRing((KEY,))
        site = Site(
            cluster=load(self.root).require(),
            root=self.root,
            environment={},
            credentials={},
            sops=Sops(Path("/nonexistent"), self.root, ring),
            engine=Path(),
            kubeconfig=self.root / "kubeconfig",
        )
        fleet: Any = self.planes
        site.secrets._fleet = fleet
        return site

    def stored(self) -> list[str]:
        """What the store has, without what Git needs."""
        names = [path.name for path in self.store.iterdir()] if self.store.exists() else []
        return sorted(name for name in names if name != ".gitignore")

    def answers(self, name: str, snapshot: Any, *, version: str = "v1.14.1", **status: Any) -> None:
        """`snapshot`: its bytes, or what `FakeNode.on` takes."""
        if isinstance(snapshot, bytes):
            step = 32 * 1024
            snapshot = data(*(snapshot[n : n + step] for n in range(0, len(snapshot), step)))
        number = NAMES.index(name) + 1
        fields = {"member_id": number, "leader": 1, "raft_applied_index": 900, **status}
        member = pb.EtcdMemberStatus(protocol_version="3.7.1", **fields)
        node = self.nodes[name]
        node.on("EtcdSnapshot", snapshot)
        node.on("EtcdStatus", pb.EtcdStatusResponse(messages=[pb.EtcdStatus(member_status=member)]))
        told = pb.Version(version=pb.VersionInfo(tag=version))
        node.on("Version", pb.VersionResponse(messages=[told]))


@contextlib.asynccontextmanager
async def three_planes(root: Path) -> AsyncIterator[Lab]:
    authority = Authority()
    write_site(root)
    async with contextlib.AsyncExitStack() as stack:
        nodes = {}
        for name in NAMES:
            folder = root.parent / name
            folder.mkdir()
            context = server_context(authority.server(name), authority.certificate, folder)
            nodes[name] = await stack.enter_async_context(serving(FakeNode(), context))
        yield Lab(root, Planes(nodes, authority))


def write_site(root: Path, more: str = "", other: int = 0) -> None:
    root.mkdir()
    (root / "cluster.yaml").write_text(CLUSTER + more)
    rows = [
        f"  - {{name: {name}, address: 10.0.0.1{number}, disk: /dev/sda, controller: true,"
        f" mac_addr: '{MACS}{number}'}}\n"
        for number, name in enumerate(NAMES, start=1)
    ]
    (root / "nodes.yaml").write_text("nodes:\n" + "".join(rows))
    (root / ".sops.yaml").write_text(rules_text([KEY.recipient]))
    secrets = new_secrets(root, sealed=False).path
    secrets.parent.mkdir()
    secrets.write_text(bundle_text(other))


@cache
def bundle_text(number: int) -> str:
    """The secrets of one of several clusters; their RSA keys take seconds."""
    return generate(datetime.now(UTC)).to_yaml()
