"""Networks, devices, pools and clusters of hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.lab.proxmox.conftest import Pve, running

from talops.lab.faults import parse
from talops.lab.spec import LabSpec, cluster, standalone

if TYPE_CHECKING:
    from pathlib import Path


async def test_interfaces_wait_for_a_reload(pve: Pve) -> None:
    """A new bridge is listed at once and works after the reload."""
    await pve.call("POST", "/nodes/pve/network", iface="vmbr9", type="bridge", cidr="10.9.0.1/24")
    await pve.task("POST", "/nodes/pve/qemu", vmid=101, net0="virtio,bridge=vmbr9")
    assert "does not exist" in await pve.task("POST", "/nodes/pve/qemu/101/status/start")
    assert await pve.task("PUT", "/nodes/pve/network") == "OK"
    assert await pve.task("POST", "/nodes/pve/qemu/101/status/start") == "OK"
    found = await pve.call("GET", "/nodes/pve/network/vmbr9")
    assert (found["address"], found["netmask"], found["type"]) == ("10.9.0.1", "24", "bridge")


async def test_pending_interfaces_can_be_taken_back(pve: Pve) -> None:
    """DELETE on the list reverts what was not reloaded."""
    before = await pve.call("GET", "/nodes/pve/network")
    await pve.call("POST", "/nodes/pve/network", iface="vmbr9", type="bridge")
    await pve.call("DELETE", "/nodes/pve/network")
    after = await pve.call("GET", "/nodes/pve/network")
    assert sorted(after, key=iface) == sorted(before, key=iface)


def iface(row: dict[str, Any]) -> str:
    return str(row["iface"])


async def test_vlans_are_read_from_their_names(pve: Pve) -> None:
    """eno1.20 is VLAN 20 on eno1, as text."""
    await pve.call("POST", "/nodes/pve/network", iface="eno1.20", type="vlan")
    found = await pve.call("GET", "/nodes/pve/network/eno1.20")
    assert (found["vlan-id"], found["vlan-raw-device"]) == ("20", "eno1")


async def test_a_gpu_is_given_to_one_running_vm(pve: Pve) -> None:
    """The second VM that uses it does not start."""
    mapping = "id=10de:2204,iommugroup=14,node=pve,path=0000:01:00.0,subsystem-id=1458:403b"
    await pve.call("POST", "/cluster/mapping/pci", id="gpu0", map=mapping)
    for vmid in (101, 102):
        given = {"vmid": vmid, "hostpci0": "mapping=gpu0,pcie=1"}
        assert await pve.task("POST", "/nodes/pve/qemu", **given) == "OK"
    assert await pve.task("POST", "/nodes/pve/qemu/101/status/start") == "OK"
    assert await pve.task("POST", "/nodes/pve/qemu/102/status/start") == (
        "PCI device '0000:01:00.0' already in use by VMID '101'"
    )


async def test_mappings_are_compared_with_the_hardware(pve: Pve) -> None:
    """A wrong device id is found when a VM starts, and when a user asks for checks."""
    wrong = "id=10de:ffff,iommugroup=14,node=pve,path=0000:01:00.0,subsystem-id=1458:403b"
    await pve.call("POST", "/cluster/mapping/pci", id="gpu0", map=wrong)
    (row,) = await pve.call("GET", "/cluster/mapping/pci", **{"check-node": "pve"})
    problem = "'id' does not match for 'gpu0' (10de:2204 != 10de:ffff)"
    assert row["checks"][0]["message"] == f"Invalid configuration: {problem}\n"
    await pve.task("POST", "/nodes/pve/qemu", vmid=101, hostpci0="mapping=gpu0")
    assert problem in await pve.task("POST", "/nodes/pve/qemu/101/status/start")
    devices = await pve.call("GET", "/nodes/pve/hardware/pci")
    assert {(device["id"], device["iommugroup"]) for device in devices} == {
        ("0000:01:00.0", 14),
        ("0000:01:00.1", 14),
    }


async def test_pools(pve: Pve) -> None:
    """A VM is in one pool; a pool with members is not deleted."""
    for name in ("a", "b"):
        await pve.call("POST", "/pools", poolid=name)
    await pve.task("POST", "/nodes/pve/qemu", vmid=101, pool="a")
    found = await pve.call("GET", "/pools", poolid="a")
    assert [member["id"] for member in found[0]["members"]] == ["qemu/101"]
    refused = await pve.send("PUT", "/pools", poolid="b", vms="101")
    assert refused.reason_phrase == (
        "update pools failed: VM 101 belongs already to pool 'a' and 'allow-move' is not set"
    )
    await pve.call("PUT", "/pools", poolid="b", vms="101", **{"allow-move": 1})
    assert (await pve.send("DELETE", "/pools", poolid="b")).status_code == 500
    await pve.task("DELETE", "/nodes/pve/qemu/101")
    assert (await pve.send("DELETE", "/pools", poolid="b")).is_success


async def test_a_cluster_with_a_node_down(tmp_path: Path) -> None:
    """Its VMs are in an unknown state, calls to it fail with 595, the rest works on."""
    async with running(tmp_path / "lab", LabSpec(proxmox=(cluster("home", ["a", "b"]),))) as pve:
        await pve.task("POST", "/nodes/b/qemu", vmid=101)
        pve.world.faults.add(parse({"kind": "node-offline", "node": "b"}))
        rows = await pve.call("GET", "/cluster/resources", type="vm")
        assert [(row["vmid"], row["status"]) for row in rows] == [(101, "unknown")]
        refused = await pve.send("GET", "/nodes/b/qemu/101/config")
        assert (refused.status_code, refused.reason_phrase) == (595, "No route to host")
        nodes = await pve.call("GET", "/nodes")
        assert {node["node"]: node["status"] for node in nodes} == {"a": "online", "b": "offline"}
        assert (await pve.call("GET", "/cluster/status"))[0]["quorate"] == 0


async def test_clusters_share_and_standalone_hosts_do_not(tmp_path: Path) -> None:
    """Every node of a cluster answers for all of them; another host knows nothing of it."""
    spec = LabSpec(proxmox=(cluster("home", ["pve1", "pve2"]), standalone("lonely")))
    async with running(tmp_path / "lab", spec) as pve, Pve(pve.world, host=1).http as other:
        await pve.task("POST", "/nodes/pve2/qemu", vmid=101)
        second = pve.world.proxmox.endpoints()["hosts"][0]["endpoints"]["pve2"]
        answer = await pve.http.get(f"{second}api2/json/cluster/resources?type=vm")
        assert [row["vmid"] for row in answer.json()["data"]] == [101]
        assert (await other.get("/cluster/resources?type=vm")).json() == {"data": []}
        nodes = await pve.call("GET", "/nodes")
        assert {node["node"]: node["status"] for node in nodes} == {
            "pve1": "online",
            "pve2": "online",
        }
        status = await pve.call("GET", "/cluster/status")
        assert status[0]["quorate"] == 1
