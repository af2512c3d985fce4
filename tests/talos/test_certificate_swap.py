"""A node that leaves maintenance mode swaps its certificate and never closes its port.

As real nodes of Talos 1.13.9 do: the maintenance certificate is signed by a throw-away CA, and the
next handshake may already see the cluster's.
"""

from __future__ import annotations

import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from tests.talos.conftest import Authority, FakeNode, server_context, serving

from talops.errors import NotReadyError, TalopsError
from talops.talos.client import Talos
from talops.talos.credentials import MAINTENANCE_NAME, is_signed_by
from talops.talos.errors import MaintenanceModeError, PreconditionError, WrongCaError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.talos.conftest import Pair


def context_of(pair: Pair, folder: Path, client_ca: str | None = None) -> ssl.SSLContext:
    folder.mkdir(exist_ok=True)
    return server_context(pair, client_ca, folder)


@asynccontextmanager
async def swapping(
    folder: Path, *contexts: ssl.SSLContext
) -> AsyncIterator[tuple[FakeNode, list[int]]]:
    """One port; each handshake is served with the next context, and all later ones with the last.

    The list counts the handshakes.
    """
    front = context_of(Authority().server(), folder / "front")
    handshakes: list[int] = []

    def choose(connection: ssl.SSLObject, *_: object) -> None:
        place = min(len(handshakes), len(contexts) - 1)
        handshakes.append(place)
        connection.context = contexts[place]

    front.sni_callback = choose
    async with serving(FakeNode(), front) as node:
        yield node, handshakes


@pytest.fixture
def waiting(tmp_path: Path) -> ssl.SSLContext:
    return context_of(Authority().server(MAINTENANCE_NAME), tmp_path / "waiting")


@pytest.fixture
def ours(authority: Authority, tmp_path: Path) -> ssl.SSLContext:
    return context_of(authority.server(), tmp_path / "ours", authority.certificate)


@pytest.fixture
def foreign(tmp_path: Path) -> ssl.SSLContext:
    other = Authority()
    return context_of(other.server(), tmp_path / "foreign", other.certificate)


async def failure(node: FakeNode, authority: Authority) -> Exception:
    async with Talos.connect("127.0.0.1", authority.credentials(), port=node.port) as talos:
        with pytest.raises(TalopsError) as caught:
            await talos.connected()
    return caught.value


async def test_swapped_between_two_looks(
    authority: Authority, tmp_path: Path, waiting: ssl.SSLContext, ours: ssl.SSLContext
) -> None:
    """The refused certificate was replaced by ours: "not yet", and the next call works."""
    async with swapping(tmp_path, waiting, ours) as (node, handshakes):
        error = await failure(node, authority)
        assert isinstance(error, PreconditionError)
        assert isinstance(error, NotReadyError)
        assert "changing its certificate" in error.what
        assert handshakes == [0, 1]
        async with Talos.connect("127.0.0.1", authority.credentials(), port=node.port) as talos:
            await talos.connected()


async def test_still_in_maintenance_mode(
    authority: Authority, tmp_path: Path, waiting: ssl.SSLContext
) -> None:
    """A throw-away CA is not another cluster's."""
    async with swapping(tmp_path, waiting) as (node, _):
        assert isinstance(await failure(node, authority), MaintenanceModeError)


async def test_another_cluster_is_refused(
    authority: Authority, tmp_path: Path, foreign: ssl.SSLContext
) -> None:
    """A certificate that is neither ours nor of maintenance mode stays an error, however often."""
    async with swapping(tmp_path, foreign) as (node, _):
        for _ in range(2):
            assert isinstance(await failure(node, authority), WrongCaError)


async def test_swapped_to_another_cluster(
    authority: Authority, tmp_path: Path, waiting: ssl.SSLContext, foreign: ssl.SSLContext
) -> None:
    """A foreign config was applied meanwhile: that node is not ours."""
    async with swapping(tmp_path, waiting, foreign) as (node, _):
        assert isinstance(await failure(node, authority), WrongCaError)


async def test_port_closed_before_the_second_look(
    authority: Authority, waiting: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a certificate to judge, no node is called another cluster."""

    async def gone(*_: object) -> bytes:
        raise ConnectionRefusedError

    monkeypatch.setattr("talops.talos.tls.shown_certificate", gone)
    async with serving(FakeNode(), waiting) as node:
        error = await failure(node, authority)
    assert isinstance(error, PreconditionError)
    assert "could not be read a second time" in error.what


def test_signed_by(authority: Authority) -> None:
    """Any of several accepted CAs will do, as during a rotation; another CA of that name won't."""
    other = Authority()
    shown = ssl.PEM_cert_to_DER_cert(authority.server().certificate)
    assert is_signed_by(shown, other.certificate + authority.certificate)
    assert not is_signed_by(shown, other.certificate)
    assert not is_signed_by(shown, "")
