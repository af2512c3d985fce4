"""Stores of every kind, and a server over each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.statestore.helpers import client_of

from talops.statestore.application import Application, Limits
from talops.statestore.guard import OpenGuard
from talops.statestore.sealing import Vault
from talops.statestore.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import httpx

    from talops.statestore.store import Store


@pytest.fixture(params=["sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened = SqliteStore(tmp_path / "states")
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
