"""VM ids for VMs that name none, each given out once even when many are made at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.lab.provider.api import ApiError
from talops.lab.provider.kinds import refuse

if TYPE_CHECKING:
    from talops.lab.provider.api import Api

_ATTEMPTS = 1000


class Ids:
    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._last: int | None = None

    async def next(self, api: Api) -> int:
        """Proxmox knows of an id as taken only once the VM is there; we know of it at once."""
        async with self._lock:
            candidate = None if self._last is None else self._last + 1
            for _ in range(_ATTEMPTS):
                try:
                    query = {"vmid": str(candidate)} if candidate is not None else None
                    self._last = int(await api.get("/cluster/nextid", query))
                except ApiError as error:
                    if candidate is None or not error.already_exists:
                        raise
                    candidate += 1
                else:
                    return self._last
            return refuse(f"no free VM id below {candidate}")
