"""When a control plane may stop for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talops.talos import quorum
from talops.talos.errors import PreconditionError
from talops.talos.quorum import Health
from talops.talos.wire import machine_pb2 as pb

if TYPE_CHECKING:
    from tests.talos.conftest import FakeNode

    from talops.talos.client import Talos


@pytest.mark.parametrize(
    ("members", "unhealthy", "allowed"),
    [
        (1, (), True),
        (1, ("down",), True),
        (2, (), False),
        (3, (), True),
        (3, ("down",), False),
        (5, ("down",), False),
        (5, (), True),
    ],
)
def test_objection(members: int, unhealthy: tuple[str, ...], allowed: bool) -> None:
    """One member, or at least three healthy ones."""
    assert (quorum.objection(Health(members, unhealthy)) is None) is allowed


@pytest.mark.parametrize(
    ("states", "reason"),
    [
        ([{"leader": 1}, {"leader": 1}, {"leader": 1}], None),
        ([{"leader": 1}, {"leader": 1}, None], "is down"),
        ([{"leader": 1}, {"leader": 1}, {"leader": 2}], "2 different leaders"),
        ([{"leader": 1}, {"leader": 1}, {"leader": 1, "is_learner": True}], "learner"),
        ([{"leader": 1}, {"leader": 1}, {"leader": 0}], "no leader"),
        ([{"leader": 1}, {"leader": 1}, {"leader": 1, "errors": ["NOSPACE"]}], "NOSPACE"),
    ],
)
async def test_look(talos: Talos, node: FakeNode, states: list[Any], reason: str | None) -> None:
    """A member that is silent, new, leaderless or of another mind does not count."""

    async def answer(_: Any, stream: Any) -> Any:
        state = states[int(stream.metadata["node"])]
        if state is None:
            return GRPCError(Status.NOT_FOUND, "etcd is down")
        status = pb.EtcdStatus(member_status=pb.EtcdMemberStatus(**state))
        return pb.EtcdStatusResponse(messages=[status])

    node.on("EtcdStatus", answer)
    members = [talos.node(str(i)) for i in range(3)]
    if reason is None:
        await quorum.require(members)
    else:
        with pytest.raises(PreconditionError, match=reason):
            await quorum.require(members)
