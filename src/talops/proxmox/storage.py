"""Storages: what they hold, how much is free, and files that are downloaded to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.proxmox import tasks
from talops.proxmox.facts import Storage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.proxmox.client import Client


async def storages(client: Client, host: str) -> tuple[Storage, ...]:
    """Those that the caller may see; Proxmox silently omits the others."""
    found = (_storage(host, row) for row in await client.get(f"nodes/{host}/storage"))
    return tuple(sorted(found, key=lambda each: each.name))


def _storage(host: str, row: dict[str, Any]) -> Storage:
    return Storage(
        name=row["storage"],
        host=host,
        type=row["type"],
        content=frozenset(part for part in str(row.get("content", "")).split(",") if part),
        active=bool(row.get("active")) and bool(row.get("enabled", 1)),
        shared=bool(row.get("shared")),
        free=int(row.get("avail", 0)),
        total=int(row.get("total", 0)),
    )


async def files(client: Client, host: str, storage: str) -> frozenset[str]:
    """The volume ids on a storage."""
    rows = await client.get(f"nodes/{host}/storage/{storage}/content")
    return frozenset(row["volid"] for row in rows)


async def allow_content(client: Client, storage: str, content: Iterable[str]) -> None:
    await client.ask("PUT", f"storage/{storage}", {"content": ",".join(sorted(content))})


async def download(client: Client, host: str, volume: str, url: str) -> None:
    """Make the host download a file to `volume`, like local:iso/talos.iso."""
    storage, _, rest = volume.partition(":")
    content, _, name = rest.partition("/")
    given = {"content": content, "filename": name, "url": url}
    await tasks.run(client, "POST", f"nodes/{host}/storage/{storage}/download-url", given)


async def remove(client: Client, host: str, volume: str) -> None:
    storage = volume.split(":", 1)[0]
    await tasks.run(client, "DELETE", f"nodes/{host}/storage/{storage}/content/{volume}")
