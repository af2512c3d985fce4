"""A machine in maintenance mode, as it describes itself: anything may answer there."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.talos.kinds import LINKS, SYSTEM, SYSTEM_ID

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.talos.client import Talos
    from talops.talos.kinds import LinkStatus, SystemInformation

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Firmware that was never given a UUID: many machines show the same one, so it identifies none.
_SHARED = frozenset(
    {
        "03000200-0400-0500-0006-000700080009",
        "00020003-0004-0005-0006-000700080009",
        "12345678-1234-5678-90ab-cddeefaabbcc",
    }
)
_NO_MAC = "00:00:00:00:00:00"
# A machine that lists more is not worth printing.
_MOST_SHOWN = 4


@dataclass(frozen=True)
class Machine:
    """`fingerprint`: the key of its certificate; `uuid`: empty if its firmware has none of its own;
    `macs` in upper case.
    """

    fingerprint: str
    uuid: str
    macs: frozenset[str]

    def __str__(self) -> str:
        macs = sorted(self.macs)
        more = f" and {len(macs) - _MOST_SHOWN} more" if len(macs) > _MOST_SHOWN else ""
        shown = ", ".join(macs[:_MOST_SHOWN]) or "none"
        return f"key {self.fingerprint}, UUID {self.uuid or 'none'}, MAC {shown}{more}"


async def read_machine(talos: Talos) -> Machine:
    """Everything over the same connection."""

    async def system() -> SystemInformation | None:
        return await talos.resources.find(SYSTEM, SYSTEM_ID)

    found, links = await asyncio.gather(system(), talos.resources.all(LINKS))
    return Machine(talos.link.fingerprint, uuid_of(found), macs_of(links))


def uuid_of(system: SystemInformation | None) -> str:
    """In lower case, as Talos and Proxmox write it; empty if it does not identify a machine."""
    text = system.uuid.lower() if system else ""
    own = _UUID.fullmatch(text) and text not in _SHARED and text.replace("-", "").strip("0f")
    return text if own else ""


def macs_of(links: Iterable[LinkStatus]) -> frozenset[str]:
    """A link in a bond shows the MAC of the bond; its own one is the permanent address."""
    both = {
        mac.upper() for link in links for mac in (link.hardware_address, link.permanent_address)
    }
    return frozenset(mac for mac in both if len(mac) == len(_NO_MAC) and mac != _NO_MAC)


def swapped(uuid: str) -> str:
    """The same 16 bytes with the first three fields in the other byte order.

    SMBIOS 2.6 and later store these fields with the lowest byte first. Tools that print the bytes
    in their order on the wire show another text for the same machine.
    """
    fields = uuid.split("-")
    turned = [bytes.fromhex(field)[::-1].hex() for field in fields[:3]]
    return "-".join([*turned, *fields[3:]])
