"""Stores of every kind, and a server over each."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from tests.statestore.helpers import client_of
from tests.statestore.postgres_server import postgres
from tests.statestore.running import running
from tests.statestore.s3_server import s3
from tests.statestore.stores import STORES

from talops.redaction import Secret
from talops.statestore.application import Application, Limits
from talops.statestore.encryption.sealing import BodyCipher
from talops.statestore.guard import OpenGuard
from talops.statestore.sqlite import SqliteStore
from talops.statestore.stores import StoreAddress, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    import httpx
    from tests.statestore.postgres_server import PostgresServer
    from tests.statestore.running import Running
    from tests.statestore.s3_server import S3Server

    from talops.statestore.store import Store


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    with postgres() as server:
        yield server


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    with s3() as server:
        yield server


@pytest.fixture(scope="session")
def address_of(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], StoreAddress]:
    """The address of a new, empty store of a kind; databases and buckets start when first asked."""

    def find(kind: str) -> StoreAddress:
        if kind == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres_server")
            return StoreAddress(Secret(server.new_database()))
        if kind == "s3":
            bucket: S3Server = request.getfixturevalue("s3_server")
            return StoreAddress(Secret(f"s3://{bucket.new_bucket()}/team"), bucket.options)
        return StoreAddress(Secret(f"sqlite:{tmp_path_factory.mktemp('store') / 'states'}"))

    return find


@pytest.fixture(params=STORES)
def store_address(
    request: pytest.FixtureRequest, address_of: Callable[[str], StoreAddress]
) -> StoreAddress:
    """The address of an empty store, of every kind in turn."""
    return address_of(request.param)


@pytest.fixture(scope="session")
def server_over(
    address_of: Callable[[str], StoreAddress],
) -> Iterator[Callable[[str], Running]]:
    """One server per kind of store for all tests; each test takes a project of its own."""
    with contextlib.ExitStack() as stack:
        started: dict[str, Running] = {}

        def find(kind: str) -> Running:
            if kind not in started:
                started[kind] = stack.enter_context(running(address_of(kind)))
            return started[kind]

        yield find


@pytest.fixture
async def store(store_address: StoreAddress) -> AsyncIterator[Store]:
    opened = await open_store(store_address)
    yield opened
    await opened.close()


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """For tests of the protocol, which is the same over any store."""
    opened = SqliteStore(tmp_path / "states")
    yield opened
    await opened.close()


@pytest.fixture
async def client(embedded: SqliteStore) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server that accepts every user and bodies of 4 MB."""
    limits = Limits(body=4 * 1024 * 1024)
    application = Application(embedded, BodyCipher(None), OpenGuard(), limits)
    async with client_of(application) as opened:
        yield opened
