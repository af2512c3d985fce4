"""Locks that calls and tasks wait for, and give up on, as on a real host."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from talops.lab.proxmox.errors import failed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CONFIG_WAIT = 10.0
STORAGE_WAIT = 60.0


class Locks:
    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._locks: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def config(self, vmid: int) -> AsyncIterator[None]:
        """`/var/lock/qemu-server/lock-ID.conf`: one change of a VM's configuration at a time."""
        async with self._hold(f"/var/lock/qemu-server/lock-{vmid}.conf", CONFIG_WAIT):
            yield

    @asynccontextmanager
    async def storage(self, storage: str, *, node: str, shared: bool) -> AsyncIterator[None]:
        """Space on one storage is given out by one task at a time."""
        name = (
            f"/var/lock/pve-manager/pve-storage-{storage}"
            if not shared
            else f"/etc/pve/priv/lock/storage-{storage}"
        )
        async with self._hold(name, STORAGE_WAIT, key=name if shared else f"{node}:{name}"):
            yield

    @asynccontextmanager
    async def _hold(self, name: str, wait: float, key: str | None = None) -> AsyncIterator[None]:
        lock = self._locks.setdefault(key or name, asyncio.Lock())
        try:
            async with asyncio.timeout(wait * self._patience):
                await lock.acquire()
        except TimeoutError:
            raise failed(f"can't lock file '{name}' - got timeout") from None
        try:
            yield
        finally:
            lock.release()
