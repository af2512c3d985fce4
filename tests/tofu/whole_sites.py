"""Whole lives of a site under a token that `host prepare` made: all three layers, real provider.

What breaks a life without one of the token's rights is what Proxmox checks in some call of it.
That the lab checks the same is held against recorded refusals of Proxmox VE 9.2
(tests/lab/proxmox/test_visible.py) and the `permissions` of Proxmox' own API schema, with the
checks inside its handlers (tests/proxmox/test_real_checks.py).
"""

from __future__ import annotations

import json
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.tofu.home import call, open_world, settle

from talops.inventory.load import load
from talops.lab.proxmox.access.rights import acl_key
from talops.lab.spec import STORAGES, HypervisorSpec, LabSpec, NodeSpec, StorageSpec
from talops.proxmox import template_build
from talops.proxmox.client import Access, Client, Token
from talops.proxmox.prepare import PrepareOptions, do, plan
from talops.proxmox.prepare import look as survey
from talops.proxmox.rights import grants, needs, roles
from talops.redaction import Secret
from talops.render.tree import render
from talops.site.layer_access import layer_applier
from talops.site.proxmox.template_recipe import recipes
from talops.site.proxmox.wanted import wanted
from talops.tofu.apply_options import ApplyOptions
from talops.tofu.policy import Policy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import pytest
    from tests.real_provider import Programs
    from tests.tofu.home import Home

    from talops.lab.world import World
    from talops.proxmox.wanted import Wanted

CA_FILE = "lab-ca.pem"
TOKEN = "talops@pve!talops"
ISOS = StorageSpec(storage="isos", type="dir", content="iso", options={"path": "/srv/isos"})
Files = dict[str, dict[str, Any]]


def one_host() -> LabSpec:
    """A host with a storage that holds nothing but other people's ISOs."""
    host = HypervisorSpec(name="pve", nodes=(NodeSpec(name="pve"),), storages=(*STORAGES, ISOS))
    return LabSpec(proxmox=(host,))


def two_hosts() -> LabSpec:
    nodes = (NodeSpec(name="pve"), NodeSpec(name="pve2"))
    return LabSpec(proxmox=(HypervisorSpec(name="pve", nodes=nodes),))


def common(details: dict[str, Any]) -> dict[str, Any]:
    return {
        "cluster_name": "demo",
        "talos_version": "v1.13.0",
        "kubernetes_version": "v1.36.1",
        "node_cidr": "10.40.0.0/24",
        "proxmox_api_url": details["proxmox"]["hosts"][0]["endpoint"].rstrip("/"),
        "proxmox_node": "pve",
        "proxmox_ca_file": CA_FILE,
        "image_factory_url": details["factory"]["url"],
        "image_factory_ca_file": CA_FILE,
        "proxmox_vm_defaults": {"cores": 2, "memory": 4096, "disk_size": 20},
    }


def everything(details: dict[str, Any]) -> Files:
    """One host, ISOs, a GPU, a pool, a VM beside the cluster, and all that layer 01 can manage."""
    device = {"node": "pve", "path": "0000:01:00.0", "id": "10de:2204", "iommu_group": 14}
    device |= {"subsystem_id": "1458:403b"}
    cluster = common(details) | {
        "pool": "k8s",
        "hypervisors": {
            "nodes": [
                {
                    "name": "pve",
                    "bridges": [{"name": "vmbr1", "comment": "one"}],
                    "vlans": [{"name": "vmbr1.20", "comment": "one"}],
                }
            ],
            "storages": [{"name": "tank", "type": "dir", "path": "/tank", "content": ["iso"]}],
            "roles": [{"name": "Reader", "privileges": ["VM.Audit"]}],
            "users": [{"name": "reader@pve", "comment": "one"}],
            "tokens": [{"user": "reader@pve", "name": "ci"}],
            "acls": [{"path": "/vms/111", "role": "Reader", "user": "reader@pve"}],
            "pci_mappings": [{"name": "gpu0", "comment": "one", "devices": [device]}],
            "pools": [{"name": "k8s"}, {"name": "other"}],
        },
        "legacy": [{"name": "nas", "vm_id": 300, "vlan_tag": 20, "iso": "isos:iso/debian.iso"}],
    }
    nodes = [
        {"name": "demo-cp-1", "address": "10.40.0.11", "controller": True, "vm_id": 111},
        {"name": "demo-gpu-1", "address": "10.40.0.12", "controller": False, "vm_id": 112}
        | {"gpus": ["gpu0"]},
    ]
    return {"cluster.yaml": cluster, "nodes.yaml": {"nodes": nodes}}


def clones(details: dict[str, Any]) -> Files:
    """Two hosts and a template on one of them, whose network card has no tag."""
    cluster = common(details) | {
        "boot": "template",
        "hypervisors": {"nodes": [{"name": "pve"}, {"name": "pve2"}]},
        "template_vm_id": 9000,
        "node_vlan_tag": 20,
        "proxmox_vlan_mode": True,
    }
    hosts = {"demo-cp-1": "pve", "demo-w-1": "pve2"}
    nodes = [
        {
            "name": name,
            "address": f"10.40.0.{11 + number}",
            "controller": not number,
            "vm_id": 111 + number,
            "host": host,
        }
        for number, (name, host) in enumerate(hosts.items())
    ]
    return {"cluster.yaml": cluster, "nodes.yaml": {"nodes": nodes}}


@dataclass(frozen=True)
class Life:
    """A site whose token has what `host prepare` gave it."""

    home: Home
    root: Path
    files: Files
    wanted: Wanted

    @property
    def world(self) -> World:
        return self.home.world

    def access(self) -> Access:
        value = self.home.run.credentials["proxmox_api_token_secret"]
        endpoint = self.world.endpoints()["proxmox"]["hosts"][0]["endpoint"]
        ca_file = str(self.world.authority.certificate)
        return Access(endpoint, Token(TOKEN, value), ca_file=ca_file)

    def edit(self, change: Callable[[dict[str, Any], list[dict[str, Any]]], None]) -> None:
        """Change the inventory and render it again."""
        change(self.files["cluster.yaml"], self.files["nodes.yaml"]["nodes"])
        write(self.root, self.files, self.world)

    async def apply(self) -> None:
        """Every layer in its order, until a plan of it is empty."""
        for layer in self.home.run.layers:
            engine, saved = self.home.run.engine(layer), self.home.run.saved(layer)
            saved.parent.mkdir(parents=True, exist_ok=True)
            if await engine.plan(saved):
                applier = self._applier(layer, Policy())
                await applier.apply(saved)
                await applier.no_drift(saved)

    async def destroy(self) -> None:
        for layer in reversed(self.home.run.layers):
            engine, saved = self.home.run.engine(layer), self.home.run.saved(layer)
            if await engine.plan(saved, destroy=True):
                applier = self._applier(layer, Policy(everything=True), destroy=True)
                await applier.apply(saved)

    def _applier(self, layer: Any, policy: Policy, *, destroy: bool = False) -> Any:
        run = self.home.run
        conduct = ApplyOptions(policy, destroy=destroy, pauses=())
        return layer_applier(run.root, run.engine(layer), run.variables(layer), conduct)

    async def build_template(self) -> None:
        cluster = load(self.root).require()
        async with Client(self.access()) as client:
            for recipe in recipes(cluster, ["pve"]):
                await template_build.build(client, recipe, lambda _: None)


async def live_with_everything(life: Life) -> None:
    """Create all, change all, put back what was moved by hand, remove all."""
    iso = f"{life.world.factory.endpoints()['url']}/image/{EMPTY}/v1.13.0/nocloud-amd64.iso"
    given = {"content": "iso", "filename": "debian.iso", "url": iso}
    await call(life.world, "POST", "/nodes/pve/storage/isos/download-url", data=given)
    await life.apply()

    def change(cluster: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
        managed = cluster["hypervisors"]
        managed["nodes"][0]["bridges"][0]["comment"] = "two"
        managed["nodes"][0]["vlans"][0]["comment"] = "two"
        managed["storages"][0]["content"] = ["iso", "backup"]
        managed["roles"][0]["privileges"] = ["VM.Audit", "VM.Console"]
        managed["users"][0]["comment"] = "two"
        managed["pci_mappings"][0]["comment"] = "two"
        cluster["talos_version"] = "v1.13.9"
        cluster["proxmox_vm_defaults"] = {"cores": 3, "memory": 6144, "disk_size": 24}
        for number, node in enumerate(nodes):
            node["address"] = f"10.40.0.{21 + number}"

    life.edit(change)
    left = {"poolid": "k8s", "vms": "111", "delete": 1}
    await call(life.world, "PUT", "/pools", data=left)
    await life.apply()
    await life.destroy()


async def live_as_clones(life: Life) -> None:
    """Build, clone to both hosts, change, bring back what was moved by hand, remove."""
    await life.build_template()
    await life.build_template()  # and is imported
    await life.apply()
    moved = {"target": "pve2", "online": 1, "with-local-disks": 1}
    await call(life.world, "POST", "/nodes/pve/qemu/111/migrate", data=moved)

    def change(_: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
        nodes[1]["address"] = "10.40.0.22"

    life.edit(change)
    await life.apply()
    await life.destroy()


EMPTY = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"


def write(root: Path, files: Files, world: World) -> None:
    root.mkdir(exist_ok=True)
    for name, content in files.items():
        (root / name).write_text(json.dumps(content, indent=2), encoding="utf-8")
    (root / CA_FILE).write_bytes(Path(world.authority.certificate).read_bytes())
    for where, text in render(load(root).require(), encrypted=False).items():
        (root / where).parent.mkdir(parents=True, exist_ok=True)
        (root / where).write_text(text, encoding="utf-8")


async def prepared(world: World, asked: Wanted) -> Secret:
    """What `host prepare` does as root@pam; the value of the new token."""
    details = world.endpoints()["proxmox"]
    name, _, value = details["api_token"].partition("=")
    login = Token(name, Secret(value))
    ca_file = str(world.authority.certificate)
    access = Access(details["hosts"][0]["endpoint"], login, ca_file=ca_file)
    made: Secret | None = None
    async with Client(access) as client:
        order = PrepareOptions(asked)
        for step in plan(order, await survey(client, order)):
            made = await do(client, step) or made
    assert made
    return made


def take_away(world: World, path: str, privilege: str) -> None:
    """One privilege on one path, and nothing else, from what `host prepare` granted."""
    (pve,) = world.proxmox.hypervisors.values()
    for entry in [e for e in pve.acl.values() if e["path"] == path]:
        privileges = set(pve.rights.role(entry["roleid"]))
        if entry["ugid"] != TOKEN.partition("!")[0] or privilege not in privileges:
            continue
        role = f"Less{entry['roleid']}"
        pve.roles.put(role, {"roleid": role, "privs": sorted(privileges - {privilege})})
        pve.acl.drop(acl_key(entry))
        less = {**entry, "roleid": role}
        pve.acl.put(acl_key(less), less)
    pve.rights.changed()
    pve.store.commit()


def give_back(world: World, path: str, privilege: str) -> None:
    """What `take_away` took."""
    (pve,) = world.proxmox.hypervisors.values()
    for entry in [e for e in pve.acl.values() if e["path"] == path]:
        if entry["roleid"].startswith("Less"):
            privileges = {*pve.rights.role(entry["roleid"]), privilege}
            pve.roles.put(entry["roleid"], {"roleid": entry["roleid"], "privs": sorted(privileges)})
    pve.rights.changed()
    pve.store.commit()


@dataclass(frozen=True)
class Kind:
    """A site, the host it is for, and what happens in its life."""

    spec: Callable[[], LabSpec]
    files: Callable[[dict[str, Any]], Files]
    live: Callable[[Life], Awaitable[None]]

    def grants(self) -> list[tuple[str, str]]:
        """Each (path, privilege) that `host prepare` gives its token."""
        host = {"endpoint": "https://127.0.0.1:8006/"}
        details = {"proxmox": {"hosts": [host]}, "factory": {"url": "https://127.0.0.1:8443"}}
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / CA_FILE).touch()
            for name, content in self.files(details).items():
                (root / name).write_text(json.dumps(content), encoding="utf-8")
            asked = needs(wanted(load(root).require()))
        made = roles(asked, "")
        every = {(g.path, name) for g in grants(asked, "") for name in made[g.role]}
        return sorted(every)


KINDS = {
    "everything": Kind(one_host, everything, live_with_everything),
    "clones": Kind(two_hosts, clones, live_as_clones),
}


@asynccontextmanager
async def begun(
    folder: Path,
    kind: Kind,
    patch: pytest.MonkeyPatch,
    programs: Programs,
    without: tuple[str, str] | None = None,
) -> AsyncIterator[Life]:
    async with open_world(folder, kind.spec(), patch, programs) as world:
        root = folder / "site"
        content = kind.files(world.endpoints())
        write(root, content, world)
        asked = wanted(load(root).require())
        value = await prepared(world, asked)
        if without:
            take_away(world, *without)
        credentials = {
            "proxmox_api_token_id": Secret(TOKEN),
            "proxmox_api_token_secret": value,
        }
        async with settle(world, root, programs, patch, credentials) as home:
            yield Life(home, root, content, asked)
