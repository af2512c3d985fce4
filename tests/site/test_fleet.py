"""Who asks a node in the same moment shares a connection to it; and what its answers mean."""

from __future__ import annotations

import contextlib
from ipaddress import ip_address
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from talops.site import fleet as fleets
from talops.site.fleet import Fleet, ForeignNodeError, Unreachable
from talops.site.secrets_file import SecretsFile
from talops.talos.errors import (
    ClockError,
    ForeignCertificateError,
    NodeDownError,
    NotAuthorizedError,
    PreconditionError,
    WrongCaError,
)
from talops.talos.transport import Link

if TYPE_CHECKING:
    from talops.errors import TalopsError
    from talops.machineconfig.secrets.bundle import Bundle

ONE: Any = SimpleNamespace(name="cp-1", address=ip_address("127.0.0.1"))
OTHER: Any = SimpleNamespace(name="w-1", address=ip_address("127.0.0.2"))


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[Link]:
    links: list[Link] = []

    def close(link: Link) -> None:
        links.append(link)

    monkeypatch.setattr(Link, "close", close)
    return links


async def test_the_last_one_hangs_up(bundle: Bundle, closed: list[Link]) -> None:
    """Closing twice counts once; another node has a connection of its own."""
    fleet = Fleet(bundle)
    first, second, other = fleet.talos(ONE), fleet.talos(ONE), fleet.talos(OTHER)
    assert first.link is second.link is not other.link
    first.close()
    first.close()
    assert closed == []
    async with second:
        pass
    assert closed == [first.link]
    assert fleet.talos(ONE).link is not first.link


async def test_an_old_connection_is_not_joined(
    bundle: Bundle, closed: list[Link], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be at a node that does not exist any more; a node that has it keeps it."""
    fleet = Fleet(bundle)
    first = fleet.talos(ONE)
    monkeypatch.setattr(fleets, "MOMENT", -1.0)
    second = fleet.talos(ONE)
    assert second.link is not first.link
    second.close()
    first.close()
    assert closed == [second.link, first.link]


async def test_one_fleet_for_a_run(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages that share the secrets share certificate and connections."""
    nothing: Any = None
    secrets = SecretsFile(nothing, lambda *_: None)

    async def read() -> Bundle:
        return bundle

    monkeypatch.setattr(secrets, "read", read)
    assert await secrets.fleet() is await secrets.fleet()


def answering(fleet: Fleet, monkeypatch: pytest.MonkeyPatch, error: TalopsError) -> None:
    """Whatever is asked, the node answers with this error."""

    class Resources:
        async def find(self, *_: object) -> None:
            raise error

    def talos(_: object) -> Any:
        return contextlib.nullcontext(SimpleNamespace(resources=Resources()))

    monkeypatch.setattr(fleet, "talos", talos)


@pytest.mark.parametrize(
    "error",
    [
        NotAuthorizedError("not authorized"),
        PreconditionError("the node is changing its certificate"),
        ClockError("not valid now"),
        NodeDownError("connection refused"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_not_yet(bundle: Bundle, monkeypatch: pytest.MonkeyPatch, error: TalopsError) -> None:
    """Right after its first config, a node refuses even administrators: observe again."""
    fleet = Fleet(bundle)
    answering(fleet, monkeypatch, error)
    state = await fleet.look(ONE)
    assert isinstance(state, Unreachable)
    assert state.error.what == error.what


@pytest.mark.parametrize("error", [WrongCaError("not our CA"), ForeignCertificateError("unknown")])
async def test_foreign(bundle: Bundle, monkeypatch: pytest.MonkeyPatch, error: TalopsError) -> None:
    """A node of another cluster ends the run, and nothing invites to wipe it blindly."""
    fleet = Fleet(bundle)
    answering(fleet, monkeypatch, error)
    with pytest.raises(ForeignNodeError, match="cp-1 belongs to another cluster") as caught:
        await fleet.look(ONE)
    assert caught.value.hint
    assert caught.value.hint.startswith("check its address")
