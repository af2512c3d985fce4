"""etcd is restored from a snapshot only where nothing of it is left."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talops.errors import ConflictError, TalopsError
from talops.talos.errors import NotAuthorizedError
from talops.talos.recovery import recover_etcd
from talops.talos.wire import machine_pb2 as pb

if TYPE_CHECKING:
    from pathlib import Path

    from tests.talos.conftest import FakeNode

    from talops.talos.client import Talos


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    database = bytes(1024)
    path = tmp_path / "etcd.snapshot"
    path.write_bytes(database + hashlib.sha256(database).digest())
    return path


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A database without the digest that a snapshot ends with."""
    path = tmp_path / "db"
    path.write_bytes(bytes(1024))
    return path


def has_data(node: FakeNode, *names: str) -> None:
    async def listed(_: Any, stream: Any) -> Any:
        there = stream.metadata["node"] in names
        return [pb.FileInfo(name="/var/lib/etcd/member", relative_name="member")] if there else []

    node.on("List", listed)


def accepts(node: FakeNode) -> None:
    node.on("EtcdRecover", pb.EtcdRecoverResponse(messages=[pb.EtcdRecover()]))
    node.on("Bootstrap", pb.BootstrapResponse(messages=[pb.Bootstrap()]))


async def test_recover(talos: Talos, node: FakeNode, snapshot: Path) -> None:
    """Upload, then bootstrap from it, with the node's own check of the digest."""
    has_data(node)
    accepts(node)
    planes = [talos.node("a"), talos.node("b")]
    await recover_etcd(planes[0], planes, snapshot, timeout=5)
    (request,) = node.requests("Bootstrap")
    assert (request.recover_etcd, request.recover_skip_hash_check) == (True, False)
    assert [meta["node"] for name, _, meta in node.asked if name == "EtcdRecover"] == [["a"]]


async def test_a_node_has_data(talos: Talos, node: FakeNode, snapshot: Path) -> None:
    """One control plane with data is enough to stop: it would be split from the others."""
    has_data(node, "b")
    accepts(node)
    planes = [talos.node("a"), talos.node("b")]
    with pytest.raises(ConflictError, match="still has etcd data") as caught:
        await recover_etcd(planes[0], planes, snapshot, timeout=5)
    assert (caught.value.where or "").startswith("b via")
    assert node.requests("EtcdRecover") == []


async def test_a_node_does_not_answer(talos: Talos, node: FakeNode, snapshot: Path) -> None:
    """Not knowing whether there is data is never taken for "none"."""
    node.on("List", GRPCError(Status.PERMISSION_DENIED, "not authorized"))
    accepts(node)
    with pytest.raises(NotAuthorizedError):
        await recover_etcd(talos, [talos], snapshot, timeout=5)
    assert node.requests("EtcdRecover") == []


async def test_damaged_file(talos: Talos, node: FakeNode, copy: Path) -> None:
    """A damaged snapshot is refused before anything is sent; a plain copy must be named one."""
    has_data(node)
    accepts(node)
    with pytest.raises(TalopsError, match="digest does not match") as caught:
        await recover_etcd(talos.node("a"), [talos.node("a")], copy, timeout=5)
    assert "--from-copy" in (caught.value.hint or "")
    assert node.asked == []
    await recover_etcd(talos.node("a"), [talos.node("a")], copy, timeout=5, from_copy=True)
    assert node.requests("Bootstrap")[0].recover_skip_hash_check
