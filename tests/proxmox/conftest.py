"""A lab's Proxmox, restricted tokens on it, and a plan to check against it."""

from __future__ import annotations

import secrets
import uuid
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.proxmox.stale import Stale

from talops.lab.proxmox.hypervisor import token_secret
from talops.lab.world import World
from talops.proxmox.client import Access, Client, Password, Token
from talops.proxmox.wanted import GIB, Wanted, WantedImage, WantedVm
from talops.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.spec import LabSpec


@dataclass(frozen=True)
class Lab:
    world: World

    @property
    def pve(self) -> Hypervisor:
        return next(iter(self.world.proxmox.hypervisors.values()))

    @property
    def endpoint(self) -> str:
        return str(self.world.proxmox.endpoints()["hosts"][0]["endpoint"])

    def access(self, login: Token | Password | None = None) -> Access:
        credentials = self.world.identity.credentials
        root = Password("root@pam", Secret(credentials.password))
        return Access(self.endpoint, login or root, ca_file=str(self.world.authority.certificate))

    def token(self, *grants: tuple[str, str, int], user: str = "ci@pve") -> Token:
        """A user with these (path, privileges, propagate) and a token that has all its rights."""
        pve = self.pve
        pve.users.put(user, {"userid": user, "enable": 1, "expire": 0})
        for path, privileges, propagate in grants:
            role = f"R{secrets.token_hex(4)}"
            pve.roles.put(role, {"roleid": role, "privs": privileges.split()})
            entry = {
                "path": path,
                "type": "user",
                "ugid": user,
                "roleid": role,
                "propagate": propagate,
            }
            pve.acl.put(f"{path} user {user} {role}", entry)
        value = str(uuid.uuid4())
        made = {"tokenid": "tf", "privsep": 0, "secret": token_secret(value)}
        pve.tokens.put(f"{user}!tf", made)
        pve.rights.changed()
        pve.store.commit()
        return Token(f"{user}!tf", Secret(value))

    @property
    def image_url(self) -> str:
        return f"{self.world.factory.endpoints()['url']}/image"


@asynccontextmanager
async def running(directory: Path, spec: LabSpec | None = None) -> AsyncIterator[Lab]:
    async with World(directory, spec) as world:
        yield Lab(world)


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    async with running(tmp_path / "lab") as found:
        yield found


@pytest.fixture
async def stale(lab: Lab) -> AsyncIterator[Client]:
    """As root, where pvestatd does not run."""
    context = lab.world.authority.client_context()
    transport = Stale(httpx.AsyncHTTPTransport(verify=context))
    async with Client(lab.access(), transport=transport) as client:
        yield client


@pytest.fixture
async def root(lab: Lab) -> AsyncIterator[Client]:
    async with Client(lab.access()) as client:
        yield client


def vm(name: str = "demo-cp-1", **changes: object) -> WantedVm:
    given: dict[str, object] = {
        "name": name,
        "host": "pve",
        "vm_id": 111,
        "mac": "BC:24:11:00:00:01",
        "address": "10.0.0.11",
        "cores": 2,
        "memory": 4 * GIB,
        "disk": 32 * GIB,
        "storage": "local-lvm",
        "bridge": "vmbr0",
        "vlan": None,
        "where": "nodes.yaml:2:5",
        "cluster_tag": "demo",
    }
    return WantedVm(**{**given, **changes})  # type: ignore[arg-type]  # rows of tests, by name


def plan(vms: Sequence[WantedVm] = (), **changes: object) -> Wanted:
    listed = tuple(vms) or (vm(),)
    given: dict[str, object] = {
        "cluster": "demo",
        "hosts": tuple(dict.fromkeys(each.host for each in listed)),
        "vms": listed,
        "images": (WantedImage("pve", "local", "iso", "talos.iso"),),
    }
    return Wanted(**{**given, **changes})  # type: ignore[arg-type]  # as above
