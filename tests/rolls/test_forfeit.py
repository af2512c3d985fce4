"""Moving the leadership of etcd fails when another member is lost: that member is the reason."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from talops.errors import TalopsError
from talops.rolls import etcd
from talops.talos.errors import CallFailedError, OutcomeUnknownError
from talops.talos.membership import Etcd

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.examples import Example


class Leader:
    """A node whose call ends like this."""

    def __init__(self, error: TalopsError) -> None:
        self._error = error
        self.calls = 0

    @property
    def etcd(self) -> Leader:
        return self

    async def forfeit_leadership(self) -> None:
        self.calls += 1
        raise self._error

    @contextlib.asynccontextmanager
    async def talos(self, _: object) -> AsyncIterator[Leader]:
        yield self


# What etcd and the lab say to a transfer to a member without power.
LATE = "etcdserver: request timed out, leader transfer took too long"


@pytest.mark.parametrize(
    ("error", "lost", "raises"),
    [
        (OutcomeUnknownError("etcd: ReadTimeout"), 0, False),
        (OutcomeUnknownError("etcd: ReadTimeout"), 1, False),
        (CallFailedError(LATE), 1, False),
        (CallFailedError("permission denied"), 0, True),
    ],
)
async def test_a_transfer_that_fails(
    error: TalopsError,
    lost: int,
    raises: bool,
    example: Example,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only an error that no lost member explains ends the step; the check that follows decides."""
    cluster = example("ha")
    names = [node.name for node in cluster.control_planes]
    members = {name: number for number, name in enumerate(names, 1)}
    silent = dict.fromkeys(names[len(names) - lost :], "no answer")
    well = Etcd(members, frozenset(names), {})
    seen = [well, Etcd(members, frozenset(names) - silent.keys(), silent)]

    async def look(*_: object) -> Etcd:
        return seen.pop(0)

    monkeypatch.setattr(etcd, "look_at_etcd", look)
    leader: Any = Leader(error)
    site: Any = type("Site", (), {"cluster": cluster})
    expected = pytest.raises(TalopsError) if raises else contextlib.nullcontext()
    with expected:
        await etcd.forfeit(leader, site, cluster.control_planes[0])
    assert leader.calls == 1
