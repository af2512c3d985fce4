"""Parse a store address and open the store."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.redaction import Secret
    from talops.statestore.audit.chain import Signer
    from talops.statestore.store import Store


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """`sqlite:DIRECTORY`, `postgres://…` or `s3://BUCKET/PREFIX`.

    A PostgreSQL address may contain a password, hence a Secret; `options` are the obstore settings
    of an S3 store (endpoint, region, keys).
    """

    url: Secret
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


async def open_store(address: StoreAddress, signer: Signer | None = None) -> Store:
    """`signer` signs the audit with a key that is not in the store."""
    url = address.url.reveal()
    kind, _, rest = url.partition(":")
    if kind == "sqlite" and rest:
        from talops.statestore.sqlite import SqliteStore

        return SqliteStore(Path(rest.removeprefix("//")), signer)
    if kind in {"postgres", "postgresql"}:
        from talops.statestore.postgres import PostgresStore

        return await PostgresStore.open(address.url, signer)
    if kind == "s3" and rest.startswith("//"):
        from talops.statestore.s3 import S3Store
        from talops.statestore.s3.bucket import Bucket

        bucket, _, prefix = rest.removeprefix("//").partition("/")
        return await S3Store.open(Bucket(bucket, prefix.strip("/"), address.options), signer)
    raise TalopsError(
        f"unknown store type {kind}:",
        hint="use sqlite:DIRECTORY, postgres://HOST/DATABASE or s3://BUCKET/PREFIX",
    )
