"""Tokens of what runs in the cluster: each right is needed, and none of them destroys a VM.

Sources: docs/install.md of sergelogvinov/proxmox-csi-plugin (a7c58ec) and of
sergelogvinov/proxmox-cloud-controller-manager (2e4bc10) for the privileges; pkg/csi/controller.go
and utils.go of the former, with luthermonson/go-proxmox v0.5.1, for the calls.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.proxmox.conftest import plan as wanted_plan
from tests.proxmox.conftest import vm
from tests.proxmox.provider_calls import CONFIG

from talops.errors import DeniedError, TalopsError
from talops.proxmox import tasks
from talops.proxmox.check.plugins import DESTROYING, judge, plugin_problems
from talops.proxmox.client import Client, Token
from talops.proxmox.plugins import CCM_EVERYWHERE, CSI_STORAGE, CSI_VM, plugins
from talops.proxmox.prepare import PrepareOptions, do, plan
from talops.proxmox.prepare import look as survey
from talops.redaction import Secret

if TYPE_CHECKING:
    from tests.proxmox.conftest import Lab

    from talops.proxmox.needs import Need
    from talops.proxmox.plugins import Plugin
    from talops.proxmox.wanted import Wanted

# As the projects document them.
DOCUMENTED = {
    "csi": "VM.Audit VM.Config.Disk Datastore.Allocate Datastore.AllocateSpace Datastore.Audit",
    "ccm": "VM.Audit VM.GuestAgent.Audit Sys.Audit",
}
POOLED = wanted_plan([vm(pool="k8s")], csi_storages=("local-lvm",), ccm=True)
LOOSE = replace(POOLED, vms=(vm(),))
VOLUME = "vm-9999-pvc-1"
HERE = "nodes/pve/qemu/111"
STORE = "nodes/pve/storage/local-lvm"


def of(wanted: Wanted, key: str) -> Plugin:
    return next(each for each in plugins(wanted) if each.key == key)


async def prepared(root: Client, wanted: Wanted) -> dict[str, Token]:
    """What `host prepare` makes for the plugins."""
    asked = PrepareOptions(wanted)
    found = {}
    for step in plan(asked, await survey(root, asked)):
        value = await do(root, step)
        if value and step.account:
            found[step.account.token] = Token(step.account.token_id, value)
    return found


async def a_node(root: Client, pool: str | None = "k8s") -> None:
    """A VM of the cluster, and one of another owner, on the same storage."""
    if pool:
        await root.ask("POST", "pools", {"poolid": pool})
    for vmid, name, where in ((111, "demo-cp-1", pool), (500, "other", None)):
        drives = {key: value for key, value in CONFIG.items() if not key.startswith("ide")}
        config = {**drives, "vmid": vmid, "name": name, **({"pool": where} if where else {})}
        await tasks.run(root, "POST", "nodes/pve/qemu", config)


async def life_of_a_volume(client: Client) -> None:
    """CreateVolume, ControllerPublishVolume, expansion, ControllerUnpublishVolume, DeleteVolume."""
    seen = await client.get("cluster/resources", type="vm")
    assert "demo-cp-1" in {row.get("name") for row in seen}, "the VM of the node is not visible"
    stores = await client.get("cluster/resources", type="storage")
    assert "local-lvm" in {row["storage"] for row in stores}, "no node has the storage"
    await client.get("storage/local-lvm")
    await client.get(f"{STORE}/status")
    size = {"vmid": 9999, "filename": VOLUME, "size": "1024M", "format": "raw"}
    await client.ask("POST", f"{STORE}/content", size)
    listed = await client.get(f"{STORE}/content", vmid=9999)
    assert [row["volid"] for row in listed] == [f"local-lvm:{VOLUME}"], "the volume is not visible"
    await client.get(f"{HERE}/config")
    drive = f"local-lvm:{VOLUME},backup=0,iothread=1,wwn=0x5056432d49443031"
    await tasks.run(client, "POST", f"{HERE}/config", {"scsi1": drive})
    assert VOLUME in (await client.get(f"{HERE}/config"))["scsi1"]
    await tasks.run(client, "PUT", f"{HERE}/resize", {"disk": "scsi1", "size": "2048M"})
    await client.ask("PUT", f"{HERE}/unlink", {"idlist": "scsi1"})
    assert "scsi1" not in await client.get(f"{HERE}/config")
    await tasks.run(client, "DELETE", f"{STORE}/content/local-lvm:{VOLUME}")


async def look_of_the_ccm(client: Client) -> None:
    """InstanceMetadata: the VM, its config and addresses, the zone, and HA."""
    seen = await client.get("cluster/resources", type="vm")
    assert {"demo-cp-1", "other"} <= {row.get("name") for row in seen}
    await client.get(f"{HERE}/config")
    await client.get("cluster/status")
    await client.get("nodes/pve/status")


@pytest.mark.parametrize("wanted", [POOLED, LOOSE], ids=["pool", "all"])
def test_the_privileges_are_the_documented_ones(wanted: Wanted) -> None:
    """Not one more, and the CSI plugin's on fewer paths."""
    for key, listed in DOCUMENTED.items():
        plugin = of(wanted, key)
        assert {need.privilege for need in plugin.needs} == set(listed.split())
        assert not {need.privilege for need in plugin.needs} & DESTROYING
    paths = {need.path for need in of(wanted, "csi").needs}
    assert paths == {"/pool/k8s" if wanted is POOLED else "/vms", "/storage/local-lvm"}
    assert {need.path for need in of(wanted, "ccm").needs} == {"/"}


@pytest.mark.parametrize("wanted", [POOLED, LOOSE], ids=["pool", "all"])
async def test_volumes_live_and_vms_stay(lab: Lab, root: Client, wanted: Wanted) -> None:
    """The token in the cluster attaches and detaches; it deletes, stops and changes no VM."""
    await a_node(root, wanted.vms[0].pool)
    tokens = await prepared(root, wanted)
    async with Client(lab.access(tokens["csi"])) as client:
        await life_of_a_volume(client)
        await refused_everything(client, "111")
        await refused_everything(client, "500")
        if wanted is POOLED:
            await refused(client, "PUT", "nodes/pve/qemu/500/unlink", {"idlist": "scsi0"})
            await refused(client, "DELETE", "storage/local-lvm")
    async with Client(lab.access(tokens["ccm"])) as client:
        await look_of_the_ccm(client)
        await refused_everything(client, "111")
        await refused(client, "PUT", f"{HERE}/unlink", {"idlist": "scsi0"})
        await refused(client, "POST", f"{STORE}/content", {"vmid": 9, "filename": "x", "size": "1"})
    assert {row["vmid"] for row in await root.get("nodes/pve/qemu")} == {111, 500}


async def refused_everything(client: Client, vmid: str) -> None:
    here = f"nodes/pve/qemu/{vmid}"
    await refused(client, "DELETE", here, {"purge": 1})
    for verb in ("start", "stop", "shutdown", "reset"):
        await refused(client, "POST", f"{here}/status/{verb}")
    for change in ({"cores": 1}, {"tags": "x"}, {"net0": "virtio,bridge=vmbr0"}, {"name": "x"}):
        await refused(client, "PUT", f"{here}/config", change)
    await refused(client, "POST", f"{here}/clone", {"newid": 600})
    await refused(client, "POST", "nodes/pve/qemu", {"vmid": 601})
    await refused(client, "PUT", "access/acl", {"path": "/", "roles": "Administrator"})
    await refused(client, "POST", "access/users", {"userid": "x@pve"})


async def refused(client: Client, method: str, path: str, params: Any = None) -> None:
    """By Proxmox' permission check: 403."""
    with pytest.raises(DeniedError, match=r"[Pp]ermission"):
        await client.ask(method, path, params or {})


MATRIX = [(key, need) for key in DOCUMENTED for need in of(POOLED, key).needs]


@pytest.mark.parametrize(("key", "left_out"), MATRIX, ids=lambda x: str(getattr(x, "privilege", x)))
async def test_no_right_is_granted_in_vain(
    lab: Lab, root: Client, key: str, left_out: Need
) -> None:
    """Without any one of them the check names it, and the plugin's work fails."""
    await a_node(root)
    plugin = of(POOLED, key)
    kept: dict[str, list[str]] = {}
    for need in plugin.needs:
        if need != left_out:
            kept.setdefault(need.path, []).append(need.privilege)
    grants = [(path, " ".join(held), int(path == "/")) for path, held in kept.items()]
    token = lab.token(*grants, user=plugin.user)
    async with Client(lab.access(token)) as client:
        held = await client.get("access/permissions")
        (found,) = judge(plugin, token.id, held)
        assert f"{token.id} lacks {left_out.privilege} (" in found.what
        assert found.where == left_out.path
        if left_out.privilege == "VM.GuestAgent.Audit":
            return  # asks the agent in the guest, which the machine of a test does not have
        with pytest.raises((TalopsError, AssertionError)):
            await (life_of_a_volume if key == "csi" else look_of_the_ccm)(client)


async def test_the_check_knows_the_tokens(lab: Lab, root: Client) -> None:
    """Missing, rejected, right, and with more than they need."""
    await a_node(root)
    login = partial(_login, lab)
    missing = await plugin_problems(POOLED, {}, login)
    assert [(each.rule, str(each.severity)) for each in missing] == [("plugin", "warning")] * 2
    assert "has no token of its own" in missing[0].what
    tokens = await prepared(root, POOLED)
    kept = {
        name: value
        for plugin in plugins(POOLED)
        for name, value in (
            (plugin.id_name, Secret(plugin.token_id)),
            (plugin.value_name, tokens[plugin.key].value),
        )
    }
    assert await plugin_problems(POOLED, kept, login) == []
    loose, *_ = await plugin_problems(LOOSE, kept, login)
    assert (loose.where, "lacks VM.Audit" in loose.what) == ("/vms", True)
    wrong = {**kept, "proxmox_csi_token_secret": Secret("00000000-0000-0000-0000-000000000000")}
    (rejected,) = await plugin_problems(POOLED, wrong, login)
    assert rejected.what.startswith("Proxmox rejected the token of addons.proxmox_csi")
    who = {"users": of(POOLED, "csi").user, "propagate": 1}
    await root.ask("PUT", "access/acl", {"path": "/vms", "roles": "PVEVMAdmin", **who})
    more = await plugin_problems(POOLED, kept, login)
    assert {str(each.severity) for each in more} == {"error"}
    assert "may do more than addons.proxmox_csi needs: " in more[0].what
    assert "VM.Allocate" in more[0].what


def _login(lab: Lab, name: str, value: Secret) -> Any:
    return lab.access(Token(name, value))


def test_the_whole_pool_is_said_to_be_open() -> None:
    """Without a pool, the token reaches every VM's disks: a warning with the way out."""
    plugin = of(LOOSE, "csi")
    held = {
        "/vms": dict.fromkeys(CSI_VM, True),
        "/storage/local-lvm": dict.fromkeys(CSI_STORAGE, 0),
    }
    (found,) = judge(plugin, plugin.token_id, held)  # type: ignore[arg-type]  # 0 as Proxmox says it
    assert (str(found.severity), found.where) == ("warning", "/vms")
    everywhere = {"/": dict.fromkeys(CCM_EVERYWHERE, True), "/vms": {"VM.Audit": True}}
    assert list(judge(of(LOOSE, "ccm"), "x", everywhere)) == []


async def test_prepare_repeats_itself(lab: Lab, root: Client) -> None:
    """With known values nothing is left; a lost one is replaced on request only."""
    await a_node(root)
    await prepared(root, POOLED)
    ids = frozenset(plugin.token_id for plugin in plugins(POOLED))
    again = PrepareOptions(POOLED, kept_token=True, kept_plugins=ids)
    assert plan(again, await survey(root, again)) == []
    lost = PrepareOptions(POOLED, kept_token=True)
    with pytest.raises(TalopsError, match="demo-csi@pve!csi exists, but its value is unknown"):
        plan(lost, await survey(root, lost))
    again = PrepareOptions(POOLED, new_token=True, kept_plugins=ids)
    names = [step.name for step in plan(again, await survey(root, again))]
    assert names == ["talops@pve!talops"]
