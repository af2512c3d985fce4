"""One TrueNAS: read pools and datasets, create and update datasets; never delete them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

import httpx

from talops.answersize import limits
from talops.truenas.access import silent, starting
from talops.truenas.datasets import body, differences, read_dataset, read_pool, settings
from talops.truenas.refusals import MissingError
from talops.truenas.rest import OK, SERVER_ERROR, Rest
from talops.truenas.rpc import Rpc

if TYPE_CHECKING:
    from types import TracebackType

    from talops.truenas.access import Access
    from talops.truenas.datasets import Dataset, Pool, Wanted

POOLS, DATASETS = "pool", "pool.dataset"
# A dataset that does not exist: the answer depends on permissions only.
ABSENT = "talops-may-i-write"


class Dialect(Protocol):
    dialect: str

    async def find(self, what: str, field: str = "", value: str = "") -> list[dict[str, Any]]: ...

    async def create(self, what: str, body: dict[str, Any]) -> dict[str, Any]: ...

    async def update(self, what: str, name: str, body: dict[str, Any]) -> dict[str, Any]: ...

    async def close(self) -> None: ...


class TrueNas:
    """Use as `async with`; every failure is raised as a TalopsError."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._open: Dialect | None = None

    async def __aenter__(self) -> Self:
        modern = await speaks_rpc(self.access)
        self._open = await Rpc.open(self.access) if modern else Rest(self.access)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._api.close()

    @property
    def _api(self) -> Dialect:
        assert self._open
        return self._open

    @property
    def dialect(self) -> str:
        return self._api.dialect

    async def pools(self) -> dict[str, Pool]:
        found = [read_pool(entry) for entry in await self._api.find(POOLS)]
        return {pool.name: pool for pool in found}

    async def dataset(self, name: str) -> Dataset | None:
        """None if TrueNAS says that it does not exist."""
        found = await self._api.find(DATASETS, "id", name)
        return read_dataset(found[0]) if found else None

    async def ensure(self, wanted: Wanted) -> Dataset:
        """Create the dataset if it is missing, update what differs; safe to repeat."""
        live = await self.dataset(wanted.name)
        if live is None:
            given = {"name": wanted.name, "type": "FILESYSTEM", **body(settings(wanted))}
            return read_dataset(await self._api.create(DATASETS, given))
        changes = differences(wanted, live)
        if not changes:
            return live
        return read_dataset(await self._api.update(DATASETS, wanted.name, body(changes)))

    async def prove_rights(self, pool: str) -> None:
        """Raise if the key may not write: TrueNAS checks permissions before the arguments."""
        try:
            await self._api.update(DATASETS, f"{pool}/{ABSENT}", {})
        except MissingError:
            return


async def speaks_rpc(access: Access) -> bool:
    """Request without the key: 25.04 and later list their API versions, older ones return 404."""
    where = f"{access.base}/api/versions"
    async with httpx.AsyncClient(
        timeout=access.seconds, verify=access.trust(), trust_env=False, event_hooks=limits()
    ) as http:
        try:
            answer = await http.get(where, headers={"User-Agent": "talops"})
        except httpx.TimeoutException as error:
            raise silent(TimeoutError(), where) from error
        except httpx.HTTPError as error:
            raise silent(error, where) from error
    if answer.status_code >= SERVER_ERROR:
        raise starting(answer.status_code, where)
    try:
        return answer.status_code == OK and isinstance(answer.json(), list)
    except ValueError:
        return False
