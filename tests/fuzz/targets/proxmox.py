"""Answers of a Proxmox of wrong shapes, for every call and for `host check` as a whole."""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import TYPE_CHECKING, Any

from tests.fuzz.targets.answers import Sent, Transport, damaged_answer
from tests.proxmox.healthy import CERTIFICATE, CLONED, GPU

from talops.errors import TalopsError
from talops.proxmox import (
    accounts,
    certificate,
    guests,
    mappings,
    nodes,
    storage,
    tasks,
    templates,
    vm_configs,
)
from talops.proxmox.check import observe, problems
from talops.proxmox.client import Access, Client, Password, Token
from talops.redaction import Secret
from talops.tofu.identity import read_config

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable, Iterator

    import httpx

    from talops.proxmox.certificate import Certificate

UPID = "UPID:pve:0000C530:001C2D23:66B2C7A0:qmcreate:111:talops@pve!talops:"
GUEST = {
    "vmid": 111,
    "node": "pve",
    "type": "qemu",
    "name": "demo-cp-1",
    "status": "running",
    "template": 0,
    "maxcpu": 4,
    "maxmem": 4294967296,
    "id": "qemu/111",
}
CONFIG = {
    "name": "demo-cp-1",
    "cores": 4,
    "sockets": 1,
    "memory": "4096",
    "tags": "demo;controlplane",
    "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20",
    "ipconfig0": "ip=10.0.0.11/24,gw=10.0.0.1",
    "hostpci0": "mapping=gpu0,pcie=1",
    "scsi0": "local-lvm:vm-111-disk-0,size=40G,ssd=1",
    "ide2": "local:iso/talos.iso,media=cdrom",
    "smbios1": "uuid=8a4b1c9e-0000-4000-8000-000000000111",
    "digest": "0123456789abcdef",
    "template": 0,
    "description": "talops",
}
STORAGE = {
    "storage": "local-lvm",
    "type": "lvmthin",
    "content": "images,rootdir",
    "active": 1,
    "enabled": 1,
    "shared": 0,
    "avail": 90 << 30,
    "used_fraction": 0.25,
}
DEVICE = {
    "id": "0000:01:00.0",
    "vendor": "0x10de",
    "device": "0x2204",
    "class": "0x030000",
    "device_name": "GA102",
    "iommugroup": 14,
    "subsystem_vendor": "0x1458",
    "subsystem_device": "0x403b",
}
MAP = "id=10de:2204,iommugroup=14,node=pve,path=0000:01:00.0,subsystem-id=1458:403b"
NETWORK = {
    "iface": "vmbr0",
    "type": "bridge",
    "active": 1,
    "bridge_vlan_aware": 1,
    "bridge_vids": "2-4094",
    "cidr": "10.0.0.2/24",
    "address": "10.0.0.2",
}
# The end of a path → what Proxmox answers there.
RIGHT: dict[str, Any] = {
    "version": {"version": "9.2.11", "release": "9.2", "repoid": "abc"},
    "nodes": [{"node": "pve", "status": "online", "maxcpu": 8, "maxmem": 1 << 35, "mem": 1 << 32}],
    "network": [NETWORK, {**NETWORK, "iface": "eno1", "type": "eth"}],
    "hardware/pci": [DEVICE, {**DEVICE, "id": "01:00.1", "iommugroup": -1}],
    "storage": [STORAGE, {**STORAGE, "storage": "local", "type": "dir", "content": "iso"}],
    "content": [
        {"volid": "local:iso/talos.iso", "content": "iso", "size": 5},
        {"volid": "local-lvm:vm-111-disk-0", "vmid": "111", "parent": "base-9000-disk-0@snap"},
    ],
    "config": CONFIG,
    "status/current": {**GUEST, "qmpstatus": "running"},
    "status": {"status": "stopped", "exitstatus": "WARNINGS: 1", "upid": UPID},
    "log": [{"n": 1, "t": "WARN: something"}, {"n": 2, "t": "TASK ERROR: no"}],
    "cluster/resources": [GUEST, {**GUEST, "vmid": 9000, "status": "unknown", "template": 1}],
    "nextid": "112",
    "mapping/pci": [{"id": "gpu0", "map": [MAP], "description": ""}],
    "access/roles": [{"roleid": "Administrator", "privs": "VM.Audit,Sys.Audit", "special": 1}],
    "token": [{"tokenid": "talops", "privsep": 0, "expire": 0}],
    "token/new": {"value": "1234-5678", "full-tokenid": "talops@pve!new"},
    "access/acl": [{"path": "/vms", "roleid": "CSI", "ugid": "talops@pve", "propagate": 1}],
    "access/permissions": {"/vms": {"VM.Audit": 1}, "/": {"Sys.Audit": 0}},
    "access/ticket": {"ticket": "PVE:root@pam:4EEC61E2::rsKoApxDTLYPn6H3NNT6", "username": "root",
                      "CSRFPreventionToken": "4EEC61E2:lwk7od06fa1"},
    "download-url": UPID,
}  # fmt: skip
FAILURE = {"data": None, "errors": {"vmid": "type check failed"}, "message": "Parameter\n"}


async def check(client: Client) -> list[Any]:
    """The facts, and everything that is decided from them."""
    found = []
    for wanted in (GPU, CLONED):
        found += problems(wanted, await observe(client, wanted))
    return found


async def configs(client: Client) -> list[Any]:
    found = await vm_configs.vm_configs(client, {111}, {"demo-cp-1"})
    return [(vm_configs.disk_slots(each), read_config(each["vmid"], each)) for each in found]


CALLS: dict[str, Callable[[Client], Awaitable[Any]]] = {
    "check": check,
    "configs": configs,
    "guests": guests.guests,
    "hidden": lambda c: guests.hidden(c, [111]),
    "next id": guests.next_id,
    "version": nodes.version,
    "hosts": nodes.hosts,
    "interfaces": lambda c: nodes.interfaces(c, "pve"),
    "devices": lambda c: nodes.devices(c, "pve"),
    "storages": lambda c: storage.storages(c, "pve"),
    "files": lambda c: storage.files(c, "pve", "local"),
    "mappings": mappings.mappings,
    "roles": accounts.roles,
    "tokens": lambda c: accounts.tokens(c, "talops@pve"),
    "add token": lambda c: accounts.add_token(c, "talops@pve", "new", ""),
    "user": lambda c: accounts.has_user(c, "talops@pve"),
    "rules": accounts.rules,
    "templates": templates.listed,
    "task": lambda c: tasks.run(c, "POST", "nodes/pve/storage/local/download-url", longest=0),
}
ACCESSES = (
    Access("https://pve.test:8006", Token("talops@pve!talops", Secret("x"))),
    Access("https://pve.test:8006", Password("root@pam", Secret("x"))),
)
_BEFORE = re.compile(r".*/api2/json/")


def known(request: httpx.Request) -> str:
    """The longest end of the path that is known."""
    path = _BEFORE.sub("", request.url.path)
    return max((end for end in RIGHT if path.endswith(end)), key=len, default="")


def right(request: httpx.Request) -> Any:
    return {"data": RIGHT.get(known(request))}


class Proxmox:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._asked: dict[tuple[str, int], list[str]] = {}
        # It opens a connection of its own to read the certificate.
        self._look, certificate.look = certificate.look, _certificate

    def close(self) -> None:
        certificate.look = self._look
        self._loop.close()

    def make(self, rng: random.Random) -> tuple[str, int, str, Sent]:
        call, access = rng.choice(list(CALLS)), rng.choice([0, 0, 0, 1])
        path = rng.choice(self._paths(call, access))
        return call, access, f"/{path}", damaged_answer(rng, {"data": RIGHT[path]}, FAILURE)

    def _paths(self, call: str, access: int) -> list[str]:
        """What a call reads of a Proxmox that answers right."""
        if (call, access) not in self._asked:
            transport = Transport(right)
            with contextlib.suppress(TalopsError):
                self._loop.run_until_complete(self._with(transport, call, access))
            found = {known(request) for request in transport.asked} - {""}
            self._asked[call, access] = sorted(found) or ["version"]
        return self._asked[call, access]

    def run(self, case: tuple[str, int, str, Sent]) -> Iterator[object]:
        return iter([self._loop.run_until_complete(self._run(*case))])

    async def _run(self, call: str, access: int, path: str, sent: Sent) -> object:
        return await self._with(Transport(right, path, sent), call, access)

    async def _with(self, transport: Transport, call: str, access: int) -> object:
        async with Client(ACCESSES[access], transport=transport) as client:
            return await CALLS[call](client)


async def _certificate(access: Access) -> Certificate:
    return CERTIFICATE
