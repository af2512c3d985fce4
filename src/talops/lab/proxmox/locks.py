"""Locks that calls and tasks wait for, with a timeout, as on a real host."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.lab.proxmox.errors import failed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CONFIG_WAIT = 10.0
IMPATIENT = 1.0  # how long creating and cloning wait for a configuration
STORAGE_WAIT = 60.0


@dataclass
class _File:
    """A lock file: one holder, or any number of readers."""

    readers: int = 0
    held: bool = False
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def free(self, *, shared: bool) -> bool:
        return not self.held and (shared or not self.readers)


class Locks:
    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._files: dict[str, _File] = {}

    @asynccontextmanager
    async def config(
        self, vmid: int, *, wait: float = CONFIG_WAIT, shared: bool = False
    ) -> AsyncIterator[None]:
        """`/var/lock/qemu-server/lock-ID.conf`: one change of a VM's configuration at a time.

        Clones share the lock of a stopped source, which blocks changes of it.
        """
        name = f"/var/lock/qemu-server/lock-{vmid}.conf"
        async with self._hold(name, wait, shared=shared):
            yield

    @asynccontextmanager
    async def storage(self, storage: str, *, node: str, shared: bool) -> AsyncIterator[None]:
        """Only one task at a time allocates space on a storage."""
        name = (
            f"/var/lock/pve-manager/pve-storage-{storage}"
            if not shared
            else f"/etc/pve/priv/lock/storage-{storage}"
        )
        async with self._hold(name, STORAGE_WAIT, key=name if shared else f"{node}:{name}"):
            yield

    @asynccontextmanager
    async def _hold(
        self, name: str, wait: float, key: str | None = None, *, shared: bool = False
    ) -> AsyncIterator[None]:
        file = self._files.setdefault(key or name, _File())
        try:
            async with asyncio.timeout(wait * self._patience), file.changed:
                await file.changed.wait_for(lambda: file.free(shared=shared))
                file.held = not shared
                file.readers += shared
        except TimeoutError:
            raise failed(f"can't lock file '{name}' - got timeout") from None
        try:
            yield
        finally:
            async with file.changed:
                file.held = False
                file.readers -= shared
                file.changed.notify_all()
