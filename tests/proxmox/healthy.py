"""A Proxmox that has all a plan takes, and rows that say what happens where it has not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.proxmox.conftest import plan, vm

from talops.proxmox.certificate import Certificate
from talops.proxmox.check import problems
from talops.proxmox.facts import (
    Device,
    Facts,
    Guest,
    Host,
    Interface,
    MappedDevice,
    PciMapping,
    Storage,
    Unread,
)
from talops.proxmox.provenance import TAG, Provenance
from talops.proxmox.rights import needs
from talops.proxmox.wanted import GIB, Wanted, WantedTemplate

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SCHEMATIC = "ab" * 32
CERTIFICATE = Certificate("CN=pve", "CN=CA", ("pve",), NOW + timedelta(days=300), None)
LOCAL = Storage("local", "pve", "dir", frozenset({"iso"}), active=True, shared=False, free=90 * GIB)
THIN = replace(LOCAL, name="local-lvm", type="lvmthin", content=frozenset({"images"}))
BRIDGE = Interface("vmbr0", "pve", "bridge", active=True, vlan_aware=True, vlans="2-4094")
HOST = Host("pve", online=True, cores=8, memory=32 * GIB, used_memory=4 * GIB)
CARD = Device("pve", "0000:01:00.0", "10de:2204", 14, "030000", "RTX 3090", "1458:403b")
SOUND = Device("pve", "0000:01:00.1", "10de:1aef", 14, "040300", "Audio")
DISK = Device("pve", "0000:02:00.0", "144d:a808", 14, "010802", "NVMe")
BUS = Device("pve", "0000:00:01.0", "8086:1901", 14, "060400", "PCIe port")
OTHER = Guest(500, "other", "pve", running=True, template=False, memory=4 * GIB, cores=2)
OURS = Guest(
    111,
    "demo-cp-1",
    "pve",
    running=True,
    template=False,
    tags=frozenset({"demo"}),
    macs=frozenset({"BC:24:11:00:00:01"}),
)
MAPPED = MappedDevice("pve", "0000:01:00.0", "10de:2204", 14, "1458:403b")
MAPPING = PciMapping("gpu0", (MAPPED,))
MARK = Provenance("v1.13.9", SCHEMATIC, "nocloud", secureboot=False, source="image")
BASE = Guest(
    9000,
    "talos-v1.13.9-base",
    "pve",
    running=False,
    template=True,
    tags=frozenset({TAG}),
    description=MARK.line(),
)
GPU = plan([vm(gpus=("gpu0",))])
CLONED = plan(
    images=(), clones=True, template=WantedTemplate(BASE.name, 9000, "pve", "v1.13.9", SCHEMATIC)
)
TAGGED = plan([vm(vlan=20)])


def facts(wanted: Wanted, **changes: Any) -> Facts:
    """A Proxmox that has all it takes, but for the changes."""
    held: dict[str, dict[str, bool]] = {}
    for need in needs(wanted):
        held.setdefault(need.path, {})[need.privilege] = True
    good = Facts(
        now=NOW,
        endpoint="https://pve:8006",
        who="talops@pve!talops",
        by_password=False,
        insecure=False,
        certificate=CERTIFICATE,
        version="9.1.1",
        permissions=held,
        hosts=(HOST,),
        storages=(LOCAL, THIN),
        interfaces=(BRIDGE,),
        devices=(CARD, SOUND, BUS),
        mappings=(MAPPING,),
        guests=(OTHER, BASE),
    )
    return replace(good, **changes)


def without(wanted: Wanted, path: str, *privileges: str) -> dict[str, dict[str, bool]]:
    held = facts(wanted).permissions
    assert not isinstance(held, Unread)
    return {
        where: {p: deep for p, deep in given.items() if where != path or p not in privileges}
        for where, given in held.items()
    }


# wanted, what is different, rule, severity, part of the words, part of the fix
Row = tuple[Wanted, dict[str, Any], str, str, str, str]
P = plan()


def names(rows: list[Row]) -> list[str]:
    return [f"{row[2]}-{row[4][:30]}" for row in rows]


def judge(row: Row) -> None:
    """Exactly one finding of that rule, of that severity, with its words and its fix."""
    wanted, changes, rule, severity, what, fix = row
    found = [each for each in problems(wanted, facts(wanted, **changes)) if each.rule == rule]
    assert [str(each.severity) for each in found] == [severity]
    assert what in found[0].what
    assert fix in found[0].hint
