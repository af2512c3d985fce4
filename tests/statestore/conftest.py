"""Stores of every kind, and a server over each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.statestore.helpers import client_of
from tests.statestore.postgres_server import postgres
from tests.statestore.s3_server import s3

from talops.redaction import Secret
from talops.statestore.application import Application, Limits
from talops.statestore.guard import OpenGuard
from talops.statestore.sealing import Vault
from talops.statestore.sqlite import SqliteStore
from talops.statestore.stores import StoreAddress, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    import httpx
    from tests.statestore.postgres_server import PostgresServer
    from tests.statestore.s3_server import S3Server

    from talops.statestore.store import Store


STORES = [
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.slow),
    pytest.param("s3", marks=pytest.mark.slow),
]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    with postgres() as server:
        yield server


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    with s3() as server:
        yield server


@pytest.fixture(params=STORES)
def store_address(request: pytest.FixtureRequest, tmp_path: Path) -> StoreAddress:
    """The address of an empty store, of every kind in turn."""
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        return StoreAddress(Secret(server.new_database()))
    if request.param == "s3":
        bucket: S3Server = request.getfixturevalue("s3_server")
        return StoreAddress(Secret(f"s3://{bucket.new_bucket()}/team"), bucket.options)
    return StoreAddress(Secret(f"sqlite:{tmp_path / 'states'}"))


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
    """A client of a server that lets everybody in and takes 4 MB."""
    limits = Limits(body=4 * 1024 * 1024)
    application = Application(embedded, Vault(None), OpenGuard(), limits)
    async with client_of(application) as opened:
        yield opened
