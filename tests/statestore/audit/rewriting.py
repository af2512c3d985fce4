"""A user with access to a store, who changes the blocks of its audit past the server."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg

from talops.statestore.audit.chain import Block, Mark
from talops.statestore.s3.bucket import Bucket

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.statestore.stores import StoreAddress

HEAD = "audit-head.json"


async def rewrite(address: StoreAddress, change: Callable[[list[Block]], list[Block]]) -> None:
    """All blocks replaced by what `change` makes of them, and the head that fits the last one."""
    kind, _, rest = address.url.reveal().partition(":")
    if kind == "sqlite":
        _in_sqlite(Path(rest.removeprefix("//")) / "states.db", change)
    elif kind == "s3":
        bucket, _, prefix = rest.removeprefix("//").partition("/")
        await _in_bucket(Bucket(bucket, prefix, address.options), change)
    else:
        await _in_postgres(address.url.reveal(), change)


def _in_sqlite(path: Path, change: Callable[[list[Block]], list[Block]]) -> None:
    with sqlite3.connect(path) as database:
        columns = "number, previous, content, hash, signature"
        rows = database.execute(f"SELECT {columns} FROM audit_block ORDER BY number").fetchall()
        blocks = change([Block(*row) for row in rows])
        database.execute("DELETE FROM audit_block")
        insert = f"INSERT INTO audit_block ({columns}) VALUES (?, ?, ?, ?, ?)"
        database.executemany(insert, [tuple(asdict(block).values()) for block in blocks])
        last = blocks[-1].mark if blocks else Mark()
        database.execute("UPDATE audit_head SET number = ?, hash = ?", (last.number, last.hash))
    database.close()


async def _in_postgres(url: str, change: Callable[[list[Block]], list[Block]]) -> None:
    database = await asyncpg.connect(url)
    columns = "number, previous, content, hash, signature"
    rows = await database.fetch(f"SELECT {columns} FROM talops_audit_block ORDER BY number")
    blocks = change([Block(*row) for row in rows])
    await database.execute("DELETE FROM talops_audit_block")
    insert = f"INSERT INTO talops_audit_block ({columns}) VALUES ($1, $2, $3, $4, $5)"
    await database.executemany(insert, [tuple(asdict(block).values()) for block in blocks])
    last = blocks[-1].mark if blocks else Mark()
    update = "UPDATE talops_audit_head SET number = $1, hash = $2"
    await database.execute(update, last.number, last.hash)
    await database.close()


async def _in_bucket(bucket: Bucket, change: Callable[[list[Block]], list[Block]]) -> None:
    keys = sorted(key for key, _ in await bucket.list("audit/"))
    found = [await bucket.get(key) for key in keys]
    blocks = change([Block(**json.loads(each[0])) for each in found if each])
    await bucket.delete(keys)
    for block in blocks:
        await bucket.put(f"audit/{block.number:012d}.json", json.dumps(asdict(block)).encode())
    last = blocks[-1].mark if blocks else Mark()
    await bucket.put(HEAD, json.dumps(asdict(last)).encode())
