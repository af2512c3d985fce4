"""Is it there, is it to be believed, and what may the token do?"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.proxmox.conftest import plan, vm
from tests.proxmox.healthy import CERTIFICATE, NOW, P, Row, judge, names, without

from talops.proxmox.facts import Unread
from talops.proxmox.needs import VM_RIGHTS

API: list[Row] = [
    (P, {"version": Unread("no answer")}, "api", "error", "no answer", "proxmox_api_url"),
    (P, {"version": "8.2.4"}, "version", "error", "8.2.4", "upgrade"),
    (
        P,
        {"certificate": replace(CERTIFICATE, expires=NOW)},
        "certificate",
        "error",
        "expired",
        "updatecerts",
    ),
    (
        P,
        {"certificate": replace(CERTIFICATE, expires=NOW + timedelta(days=5))},
        "certificate",
        "warning",
        "expires on 2026-06-06",
        "updatecerts",
    ),
    (
        P,
        {"certificate": replace(CERTIFICATE, problem="self-signed certificate")},
        "certificate",
        "error",
        "not trusted (self-signed",
        "proxmox_ca_file",
    ),
    (
        P,
        {
            "certificate": replace(
                CERTIFICATE, problem="Hostname mismatch, certificate is not valid for 'x'."
            )
        },
        "certificate",
        "error",
        "is for pve",
        "proxmox_api_url",
    ),
    (
        P,
        {"certificate": replace(CERTIFICATE, problem="self-signed certificate"), "insecure": True},
        "certificate",
        "warning",
        "any certificate",
        "remove proxmox_insecure",
    ),
    (
        P,
        {"certificate": Unread("no answer")},
        "certificate",
        "error",
        "no answer",
        "proxmox_api_url",
    ),
]
RIGHTS: list[Row] = [
    (
        P,
        {"permissions": {}},
        "no-privileges",
        "error",
        "sees no template and no VM",
        "--tokens 'talops@pve!talops' --roles TalopsVMs --propagate 1",
    ),
    (
        P,
        {"permissions": without(P, "/vms", "VM.Audit")},
        "privilege",
        "error",
        "without VM.Audit it sees no template",
        "pveum acl modify /vms",
    ),
    (
        P,
        {
            "permissions": without(P, "/vms", "VM.Allocate"),
            "roles": {"TalopsVMs": frozenset({"VM.Audit"})},
        },
        "privilege",
        "error",
        "VM.Allocate (create and remove VMs)",
        "pveum role modify TalopsVMs --append 1",
    ),
    (
        P,
        {"permissions": without(P, "/storage/local-lvm", "Datastore.AllocateSpace")},
        "privilege",
        "error",
        "AllocateSpace",
        "pveum acl modify /storage/local-lvm",
    ),
    (
        P,
        {"permissions": without(P, "/sdn/zones/localnetwork/vmbr0", "SDN.Use")},
        "privilege",
        "error",
        "SDN.Use",
        "TalopsBridges",
    ),
    (
        P,
        {
            "permissions": without(P, "/sdn/zones/localnetwork/vmbr0", "SDN.Use"),
            "interfaces": (),
        },
        "bridge",
        "error",
        "host pve shows no bridge vmbr0: talops@pve!talops may not see it",
        "grant SDN.Use on /sdn/zones/localnetwork/vmbr0",
    ),
    (
        P,
        {"permissions": without(P, "/storage/local-lvm", "Datastore.Audit")},
        "privilege",
        "error",
        "Datastore.Audit (read the VMs' disks)",
        "pveum acl modify /storage/local-lvm",
    ),
    (
        P,
        {"permissions": without(P, "/", "Sys.Modify")},
        "privilege",
        "error",
        "start order",
        "pveum acl modify / ",
    ),
    (
        P,
        {"permissions": without(P, "/nodes/pve", "Sys.Audit")},
        "privilege",
        "warning",
        "free memory",
        "TalopsNodes",
    ),
    (
        P,
        {"permissions": {**without(P, ""), "/vms": dict.fromkeys(VM_RIGHTS, False)}},
        "privilege",
        "error",
        "VM.Audit",
        "--propagate 1",
    ),
    (P, {"permissions": Unread("timeout")}, "privilege", "error", "timeout", "talops host check"),
    (plan([vm(gpus=("0000:01:00.0",))]), {}, "raw-device", "error", "root@pam", "mapping"),
]
ROWS = API + RIGHTS


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_a_finding_says_what_and_how_to_mend_it(row: Row) -> None:
    """Facts in, one finding with its fix out."""
    judge(row)
