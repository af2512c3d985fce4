"""The lab's TrueNAS alone, in any version, with an access for it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.lab.context import LabContext
from talops.lab.faults import Fault, Faults
from talops.lab.layout import Layout
from talops.lab.network import claim
from talops.lab.pki import Authority
from talops.lab.proxmox.seed import Credentials
from talops.lab.spec import LabSpec, NasPoolSpec, TrueNasSpec
from talops.lab.truenas.service import TrueNasService
from talops.redaction import Secret
from talops.truenas.access import Access

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from talops.lab.truenas.zfs import Zfs

OLD, NEW, NEWEST = "24.10.2", "25.04.2", "26.04"
POOLS = (NasPoolSpec(name="tank", size_gib=100), NasPoolSpec(name="full", size_gib=1, used_gib=1))


@dataclass(frozen=True)
class Nas:
    service: TrueNasService
    faults: Faults
    ca_file: str

    @property
    def zfs(self) -> Zfs:
        return self.service.middleware.zfs

    @property
    def asked(self) -> list[str]:
        return self.service.middleware.asked

    @property
    def url(self) -> str:
        return str(self.service.endpoints()["url"])

    def access(self, key: int = 0, **more: Any) -> Access:
        given = Secret(self.service.keys[key].key)
        return Access(**{"url": self.url, "key": given, "ca_file": self.ca_file, **more})

    def fault(self, kind: str, **more: Any) -> None:
        self.faults.add(Fault(kind, **more))


@contextlib.asynccontextmanager
async def running(folder: Path, version: str, *, timing: float = 0.02) -> AsyncIterator[Nas]:
    layout = Layout(folder)
    network, listener = claim(folder, None)
    authority = Authority(layout.pki)
    authority.ensure()
    context = LabContext(
        LabSpec(timing=timing, truenas=TrueNasSpec(version=version, pools=POOLS)),
        layout,
        network,
        authority,
        Credentials("password", "the-lab-token"),
        Faults(layout.faults),
    )
    service = TrueNasService(context)
    await service.start()
    try:
        yield Nas(service, context.faults, str(authority.certificate))
    finally:
        await service.stop()
        listener.close()
