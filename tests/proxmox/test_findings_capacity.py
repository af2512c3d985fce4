"""Hosts, memory, cores and storages against what will be created."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.proxmox.conftest import plan, vm
from tests.proxmox.healthy import HOST, LOCAL, THIN, P, Row, judge, names, without

from talops.proxmox.facts import Unread
from talops.proxmox.wanted import GIB, WantedImage

CAPACITY: list[Row] = [
    (
        P,
        {"hosts": (replace(HOST, name="pve7"),)},
        "host",
        "error",
        "no Proxmox host 'pve'; there are: pve7",
        "proxmox_node",
    ),
    (P, {"hosts": (replace(HOST, online=False),)}, "host", "error", "offline", "start it"),
    (P, {"hosts": Unread("timeout", "wait")}, "unread", "error", "the hosts: timeout", "wait"),
    (
        plan([vm(memory=30 * GIB)]),
        {},
        "memory",
        "error",
        "has 32 GiB: running VMs have 4.0 GiB of it",
        "vm_memory",
    ),
    (
        plan([vm(memory=26 * GIB)]),
        {"hosts": (replace(HOST, used_memory=10 * GIB),)},
        "memory",
        "warning",
        "22 GiB free now",
        "ZFS",
    ),
    (P, {"hosts": (replace(HOST, memory=None),)}, "memory", "warning", "may not see", "Sys.Audit"),
    (plan([vm(cores=9)]), {}, "cores", "error", "needs 9 cores, and pve has 8", "vm_cores"),
    (
        plan(
            [
                vm(
                    f"n{i}",
                    vm_id=200 + i,
                    cores=8,
                    memory=GIB,
                    disk=GIB,
                    mac=f"M{i}",
                    address=f"A{i}",
                )
                for i in range(5)
            ]
        ),
        {},
        "cores",
        "warning",
        "8 cores for 42",
        "fewer",
    ),
    (
        P,
        {"storages": (LOCAL,)},
        "storage",
        "error",
        "pve has no storage local-lvm",
        "proxmox_disk_storage",
    ),
    (
        P,
        {
            "storages": (LOCAL,),
            "permissions": without(
                P, "/storage/local-lvm", "Datastore.Audit", "Datastore.AllocateSpace"
            ),
        },
        "storage",
        "error",
        "may not see it",
        "rights on /storage/local-lvm",
    ),
    (
        P,
        {"storages": (replace(LOCAL, active=False), THIN)},
        "storage",
        "error",
        "not active",
        "pvesm status",
    ),
    (P, {"storages": Unread("timeout")}, "unread", "error", "the storages", "talops host check"),
    (
        P,
        {"storages": (replace(LOCAL, content=frozenset({"backup"})), THIN)},
        "content",
        "error",
        "may not hold iso",
        "pvesm set local --content backup,iso",
    ),
    (
        plan(images=(WantedImage("pve", "local", "import", "x.qcow2"),)),
        {},
        "content",
        "error",
        "may not hold import",
        "pvesm set local --content import,iso",
    ),
    (
        P,
        {"storages": (replace(LOCAL, free=GIB // 8), THIN)},
        "space",
        "error",
        "0.1 GiB free",
        "free some",
    ),
    (
        P,
        {"storages": (LOCAL, replace(THIN, free=3 * GIB))},
        "space",
        "error",
        "4.0 GiB are needed",
        "vm_disk_size",
    ),
    (
        P,
        {"storages": (LOCAL, replace(THIN, free=20 * GIB))},
        "space",
        "warning",
        "may grow to 32 GiB",
        "vm_disk_size",
    ),
    (
        P,
        {"storages": (LOCAL, replace(THIN, type="lvm", free=20 * GIB))},
        "space",
        "error",
        "32 GiB are needed",
        "vm_disk_size",
    ),
]
ROWS = CAPACITY


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_a_finding_says_what_and_how_to_mend_it(row: Row) -> None:
    """Facts in, one finding with its fix out."""
    judge(row)
