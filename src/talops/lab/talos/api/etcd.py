"""The etcd calls of the node's API."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talops.errors import ConflictError
from talops.files import PRIVATE, write_atomic
from talops.lab.talos.api.common import full_disk, require_control_plane
from talops.lab.talos.call import Api
from talops.lab.talos.machine.failures import SequenceFailedError
from talops.talos.wire import common_pb2, machine_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from google.protobuf.empty_pb2 import Empty

    from talops.lab.kubernetes.etcd_client import Alarm, EtcdClient

_CHUNK = 64 * 1024
_POLL = 0.2


class EtcdApi(Api):
    """machine.MachineService: the Etcd… calls."""

    SERVICE = "machine.MachineService"

    def _client(self, name: str) -> EtcdClient:
        require_control_plane(self.node, name)
        etcd = self.node.control_plane.etcd
        if etcd is None or not etcd.running:
            address = self.node.addresses[0] if self.node.addresses else "127.0.0.1"
            text = (
                f"error building etcd client: dial tcp {address}:2379: connect: connection refused"
            )
            raise GRPCError(Status.UNAVAILABLE, text)
        return etcd.client

    async def etcd_member_list(
        self, request: machine_pb2.EtcdMemberListRequest
    ) -> machine_pb2.EtcdMembers:
        """A control plane that has not joined never answers: the call ends at its deadline."""
        require_control_plane(self.node, "member list")
        while not self.node.control_plane.etcd_running:  # noqa: ASYNC110  (a process of its own)
            await asyncio.sleep(_POLL)
        members = await self._client("member list").members(local=request.query_local)
        return machine_pb2.EtcdMembers(
            legacy_members=[m.name for m in members],
            members=[
                machine_pb2.EtcdMember(
                    id=m.id,
                    hostname=m.name,
                    peer_urls=m.peer_urls,
                    client_urls=m.client_urls,
                    is_learner=m.learner,
                )
                for m in members
            ],
        )

    async def etcd_status(self, _: Empty) -> machine_pb2.EtcdStatus:
        found = await self._client("etcd status").status()
        status = machine_pb2.EtcdMemberStatus(
            protocol_version=found.get("version", ""),
            storage_version=found.get("storageVersion", ""),
            is_learner=bool(found.get("isLearner", False)),
            errors=found.get("errors", []),
            member_id=int(found["header"]["member_id"]),
            **_numbers(found),
        )
        return machine_pb2.EtcdStatus(member_status=status)

    async def etcd_remove_member_by_id(
        self, request: machine_pb2.EtcdRemoveMemberByIDRequest
    ) -> machine_pb2.EtcdRemoveMemberByID:
        try:
            await self._client("etcd remove member").remove(request.member_id)
        except ConflictError as error:
            known = "member not found" in error.what
            status = Status.NOT_FOUND if known else Status.UNKNOWN
            raise GRPCError(status, f"failed to remove member: {error.what}") from error
        return machine_pb2.EtcdRemoveMemberByID()

    async def etcd_leave_cluster(
        self, _: machine_pb2.EtcdLeaveClusterRequest
    ) -> machine_pb2.EtcdLeaveCluster:
        self._client("etcd leave")
        try:
            await self.node.control_plane.leave()
        except SequenceFailedError as error:
            raise GRPCError(Status.UNKNOWN, str(error)) from error
        return machine_pb2.EtcdLeaveCluster()

    async def etcd_forfeit_leadership(
        self, _: machine_pb2.EtcdForfeitLeadershipRequest
    ) -> machine_pb2.EtcdForfeitLeadership:
        client = self._client("etcd forfeit leadership")
        status, members = await client.status(), await client.members()
        own = int(status["header"]["member_id"])
        if len(members) == 1:
            text = "failed to forfeit leadership: cannot forfeit leadership, only one member"
            raise GRPCError(Status.UNKNOWN, text)
        if int(status.get("leader", 0)) != own:
            return machine_pb2.EtcdForfeitLeadership()
        target = next(m for m in members if m.id != own and not m.learner)
        await client.move_leader(target.id)
        return machine_pb2.EtcdForfeitLeadership(member=target.name)

    async def etcd_snapshot(
        self, _: machine_pb2.EtcdSnapshotRequest
    ) -> AsyncIterator[common_pb2.Data]:
        async for blob in self._client("etcd snapshot").snapshot():
            for start in range(0, len(blob), _CHUNK):
                yield common_pb2.Data(bytes=blob[start : start + _CHUNK])

    async def etcd_recover(self, parts: list[common_pb2.Data]) -> machine_pb2.EtcdRecover:
        require_control_plane(self.node, "etcd recover")
        full_disk(self.node, "/var/lib/etcd.snapshot")
        content = b"".join(part.bytes for part in parts)
        write_atomic(self.node.store.recovery, content, mode=PRIVATE)
        return machine_pb2.EtcdRecover()

    async def etcd_alarm_list(self, _: Empty) -> machine_pb2.EtcdAlarm:
        found = await self._client("etcd alarm list").alarms()
        return machine_pb2.EtcdAlarm(member_alarms=[_alarm(a) for a in found])

    async def etcd_alarm_disarm(self, _: Empty) -> machine_pb2.EtcdAlarmDisarm:
        found = await self._client("etcd alarm disarm").disarm()
        return machine_pb2.EtcdAlarmDisarm(member_alarms=[_alarm(a) for a in found])

    async def etcd_defragment(self, _: Empty) -> machine_pb2.EtcdDefragment:
        await self._client("etcd defragment").defragment()
        return machine_pb2.EtcdDefragment()


def _numbers(found: dict[str, Any]) -> dict[str, int]:
    names = {
        "db_size": "dbSize",
        "db_size_in_use": "dbSizeInUse",
        "leader": "leader",
        "raft_index": "raftIndex",
        "raft_term": "raftTerm",
        "raft_applied_index": "raftAppliedIndex",
    }
    return {ours: int(found.get(theirs, 0)) for ours, theirs in names.items()}


def _alarm(alarm: Alarm) -> machine_pb2.EtcdMemberAlarm:
    return machine_pb2.EtcdMemberAlarm(member_id=alarm.member_id, alarm=alarm.kind)
