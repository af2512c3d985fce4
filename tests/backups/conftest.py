"""Real etcd members, and a snapshot that one of them made."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.talos.harness import claim_network

from talops.lab.kubernetes.etcd import EtcdMember, EtcdSettings
from talops.lab.kubernetes.pki import throwaway_authority

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

# Of etcd 3.7.1, as `record` below made it: keys that were changed, deleted and compacted, of six
# kinds, and values that need pages of their own.
RECORDED = Path(__file__).parents[1] / "recordings" / "etcd-3.7.1-snapshot.db.gz"


class Etcd:
    """One real member, and calls that tests need."""

    def __init__(self, member: EtcdMember) -> None:
        self.member = member

    async def call(self, path: str, **body: Any) -> dict[str, Any]:
        return await self.member.client._call(path, body)

    async def put(self, key: str, value: bytes) -> None:
        await self.member.client.put(key.encode(), value)

    async def delete(self, key: str) -> None:
        await self.call("kv/deleterange", key=base64.b64encode(key.encode()).decode())

    async def compact(self) -> int:
        """Remove old revisions; returns the current one."""
        revision = int((await self.call("kv/range", key="AA=="))["header"]["revision"])
        await self.call("kv/compaction", revision=str(revision), physical=True)
        return revision

    async def everything(self) -> dict[bytes, bytes]:
        """All keys and values, as etcd itself says."""
        found = await self.call("kv/range", key="AA==", range_end="AA==")
        return {
            base64.b64decode(kv["key"]): base64.b64decode(kv.get("value", ""))
            for kv in found.get("kvs", [])
        }

    async def snapshot(self) -> bytes:
        return b"".join([piece async for piece in self.member.client.snapshot()])


@pytest.fixture
async def etcd(tmp_path: Path, tool: Callable[[str], Path]) -> AsyncIterator[Etcd]:
    network, holder = claim_network()
    ca = throwaway_authority()
    settings = EtcdSettings(tool("etcd"), tmp_path / "etcd", "cp-1", f"{network}.1", ca)
    member = EtcdMember(settings)
    await member.bootstrap()
    try:
        await member.wait_healthy(30.0)
        yield Etcd(member)
    finally:
        await member.close()
        await member.stop()
        holder.close()


@pytest.fixture(scope="session")
def snapshot() -> bytes:
    """A snapshot of a real etcd, with its digest."""
    return gzip.decompress(RECORDED.read_bytes())


async def record(etcd: Etcd) -> None:
    """The content of the recording."""
    kinds = (
        "pods",
        "secrets",
        "configmaps",
        "apps.example.org/widgets",
        "services/specs",
        "leases",
    )
    for kind in kinds:
        for number in range(12):
            await etcd.put(f"/registry/{kind}/default/n{number:02d}", b"first" * 10)
    for number in range(0, 12, 3):
        await etcd.put(f"/registry/pods/default/n{number:02d}", b"second" * 40)
        await etcd.delete(f"/registry/secrets/default/n{number:02d}")
    await etcd.compact()
    await etcd.put("/registry/configmaps/default/large", b"large" * 4000)
    await etcd.put("/registry/configmaps/default/n00", b"third")
    await etcd.delete("/registry/leases/default/n01")
    await etcd.put("/registry/leases/default/n02", b"")
    await etcd.put("unknown", b"x")
