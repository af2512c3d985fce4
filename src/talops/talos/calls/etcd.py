"""etcd on control planes: members, status, alarms, leaving, and moving its data."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.protobuf.empty_pb2 import Empty

from talops.talos.answers import failure, name_of
from talops.talos.errors import NoAnswerError, PreconditionError
from talops.talos.snapshot import Snapshot, SnapshotWriter, pieces_of
from talops.talos.wire import common_pb2, machine_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable
    from pathlib import Path

    from talops.talos.calling import Caller

# A member answers at once. One that has not joined yet never answers: it waits for the others,
# and only the deadline ends the call.
QUICK = 5.0
# Moving a leader or rewriting a database takes etcd longer than an ordinary call.
SLOW = 60.0


def member_name(number: int) -> str:
    """A member's id as etcd's own tools and Talos' resources write it."""
    return f"{number:x}"


@dataclass(frozen=True)
class EtcdMember:
    id: int
    hostname: str
    peer_urls: tuple[str, ...]
    client_urls: tuple[str, ...]
    learner: bool


@dataclass(frozen=True)
class EtcdStatus:
    member_id: int
    leader: int
    protocol_version: str
    storage_version: str
    db_size: int
    db_size_in_use: int
    raft_index: int
    raft_term: int
    raft_applied_index: int
    learner: bool
    errors: tuple[str, ...]


@dataclass(frozen=True)
class EtcdAlarm:
    member_id: int
    alarm: str


class EtcdCalls:
    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = caller.machine_service

    async def members(self, *, local: bool = False) -> list[EtcdMember]:
        """The members as the cluster agrees on them; `local` asks this member alone."""
        request = machine_pb2.EtcdMemberListRequest(query_local=local)
        got = await self._read(self._stub.EtcdMemberList, request)
        return [
            EtcdMember(m.id, m.hostname, tuple(m.peer_urls), tuple(m.client_urls), m.is_learner)
            for m in got.members
        ]

    async def status(self) -> EtcdStatus:
        got = await self._read(self._stub.EtcdStatus, Empty())
        m = got.member_status
        return EtcdStatus(
            member_id=m.member_id,
            leader=m.leader,
            protocol_version=m.protocol_version,
            storage_version=m.storage_version,
            db_size=m.db_size,
            db_size_in_use=m.db_size_in_use,
            raft_index=m.raft_index,
            raft_term=m.raft_term,
            raft_applied_index=m.raft_applied_index,
            learner=m.is_learner,
            errors=tuple(m.errors),
        )

    async def leave(self) -> None:
        """The node leaves the cluster and wipes its data."""
        request = machine_pb2.EtcdLeaveClusterRequest()
        await self._caller.one(self._stub.EtcdLeaveCluster, request, timeout=SLOW)

    async def forfeit_leadership(self) -> str:
        """The new leader's name; empty when the node did not lead."""
        request = machine_pb2.EtcdForfeitLeadershipRequest()
        got = await self._caller.one(self._stub.EtcdForfeitLeadership, request, timeout=SLOW)
        return str(got.member)

    async def remove_member(self, member_id: int) -> None:
        request = machine_pb2.EtcdRemoveMemberByIDRequest(member_id=member_id)
        await self._caller.one(self._stub.EtcdRemoveMemberByID, request)

    async def alarms(self) -> list[EtcdAlarm]:
        return _alarms(await self._read(self._stub.EtcdAlarmList, Empty()))

    async def _read(self, method: Any, request: Any) -> Any:
        try:
            return await self._caller.one(method, request, safe=True, timeout=QUICK)
        except NoAnswerError as error:
            raise PreconditionError(
                f"etcd did not answer within {QUICK:g} s; the node may not have joined yet",
                where=error.where,
                hint="`talops talos services` shows whether etcd runs there",
            ) from error

    async def disarm(self) -> list[EtcdAlarm]:
        """Returns the disarmed alarms; disarming twice is harmless."""
        return _alarms(await self._caller.one(self._stub.EtcdAlarmDisarm, Empty(), safe=True))

    async def defragment(self) -> None:
        """Rewrite this member's database; it does not answer meanwhile."""
        await self._caller.one(self._stub.EtcdDefragment, Empty(), timeout=SLOW)

    async def snapshot(self, path: Path) -> Snapshot:
        """Save the database to `path`: complete and verified, or not at all."""
        with SnapshotWriter(path) as writer:
            async with aclosing(self.snapshot_pieces()) as pieces:
                async for piece in pieces:
                    writer.add(piece)
            return writer.finish()

    async def snapshot_pieces(self, *, patience: float | None = None) -> AsyncGenerator[bytes]:
        """The database as it arrives, not verified; `patience` is the longest pause between two
        pieces.
        """
        stream = self._caller.stream(self._stub.EtcdSnapshot, machine_pb2.EtcdSnapshotRequest())
        async with aclosing(self._caller.patient(stream, "the snapshot", patience)) as items:
            async for item in items:
                if wrong := failure(item.metadata, self._caller.where):
                    raise wrong
                yield item.bytes

    async def recover(self, path: Path) -> None:
        """Upload a snapshot; `bootstrap(recover_etcd=True)` then starts from it."""
        await self.recover_pieces(pieces_of(path))

    async def recover_pieces(self, pieces: Iterable[bytes]) -> None:
        await self._caller.upload(self._stub.EtcdRecover, _upload(pieces))


async def _upload(pieces: Iterable[bytes]) -> AsyncGenerator[common_pb2.Data]:
    for piece in pieces:
        yield common_pb2.Data(bytes=piece)


def _alarms(got: Any) -> list[EtcdAlarm]:
    kinds = machine_pb2.EtcdMemberAlarm.AlarmType
    return [EtcdAlarm(each.member_id, name_of(kinds, each.alarm)) for each in got.member_alarms]
