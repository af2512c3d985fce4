"""Changing VMs: what is in force at once, what waits, what is taken apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.lab.proxmox.conftest import Pve

VM = "/nodes/pve/qemu/101"


async def make(pve: Pve, **more: Any) -> None:
    assert await pve.task("POST", "/nodes/pve/qemu", **{"vmid": 101, "cores": 2, **more}) == "OK"


async def test_some_changes_wait_for_the_next_start(pve: Pve) -> None:
    """The configuration shows what will be; `current` shows what is."""
    await make(pve)
    await pve.task("POST", f"{VM}/status/start")
    await pve.call("PUT", f"{VM}/config", cores=4, tags="b;a")
    assert (await pve.call("GET", f"{VM}/config"))["cores"] == 4
    current = await pve.call("GET", f"{VM}/config", current=1)
    assert (current["cores"], current["tags"]) == (2, "a;b")
    pending = {row["key"]: row for row in await pve.call("GET", f"{VM}/pending")}
    assert pending["cores"] == {"key": "cores", "value": 2, "pending": 4}
    assert "pending" not in pending["tags"]
    await pve.task("POST", f"{VM}/status/reboot")
    assert (await pve.call("GET", f"{VM}/config", current=1))["cores"] == 4


async def test_a_disk_that_is_taken_out_stays_unused(pve: Pve) -> None:
    """Until a user removes it; putting it back uses it again."""
    await make(pve, scsi0="local-lvm:1", scsi1="local-lvm:2")
    await pve.call("PUT", f"{VM}/config", delete="scsi1,net7,hostpci3")
    config = await pve.call("GET", f"{VM}/config")
    assert config["unused0"] == "local-lvm:vm-101-disk-1"
    await pve.call("PUT", f"{VM}/config", scsi3="local-lvm:vm-101-disk-1")
    config = await pve.call("GET", f"{VM}/config")
    assert config["scsi3"] == "local-lvm:vm-101-disk-1,size=2G"
    assert "unused0" not in config
    await pve.call("PUT", f"{VM}/config", delete="scsi3")
    await pve.call("PUT", f"{VM}/config", delete="unused0")
    assert len(await pve.call("GET", "/nodes/pve/storage/local-lvm/content")) == 1


async def test_empty_descriptions_go(pve: Pve) -> None:
    """And white space at the end of full ones."""
    await make(pve, description="one\n\n")
    assert (await pve.call("GET", f"{VM}/config"))["description"] == "one"
    await pve.call("PUT", f"{VM}/config", description="")
    assert "description" not in await pve.call("GET", f"{VM}/config")


async def test_a_stale_digest_is_refused(pve: Pve) -> None:
    """Two who change the same VM do not overwrite each other unseen."""
    await make(pve)
    digest = (await pve.call("GET", f"{VM}/config"))["digest"]
    await pve.call("PUT", f"{VM}/config", cores=3, digest=digest)
    refused = await pve.send("PUT", f"{VM}/config", cores=4, digest=digest)
    assert refused.reason_phrase.startswith("checksum mismatch")


async def test_a_cloud_init_drive_is_made_once(pve: Pve) -> None:
    """Sending it again keeps the volume and writes it, which notes its size."""
    await make(pve, ide2="local-lvm:cloudinit", ipconfig0="ip=127.1.2.3/24")
    for size in ("", ",size=4M"):
        config = await pve.call("GET", f"{VM}/config")
        assert config["ide2"] == f"local-lvm:vm-101-cloudinit,media=cdrom{size}"
        await pve.call("PUT", f"{VM}/config", ide2="file=local-lvm:cloudinit,")
    await pve.call("PUT", f"{VM}/config", delete="ide2")
    assert await pve.call("GET", "/nodes/pve/storage/local-lvm/content") == []


async def test_boot_order_names_what_is_there(pve: Pve) -> None:
    """An unknown device is refused; one that goes is taken off the list."""
    await make(pve, scsi0="local-lvm:1", net0="virtio", boot="order=scsi0;net0")
    refused = await pve.send("PUT", f"{VM}/config", boot="order=scsi5")
    assert refused.reason_phrase == "invalid bootorder: device 'scsi5' does not exist'"
    await pve.call("PUT", f"{VM}/config", delete="net0")
    assert (await pve.call("GET", f"{VM}/config"))["boot"] == "order=scsi0"


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        ({}, 500, "no options specified"),
        ({"balloon": 4096}, 500, "balloon value too large (must be smaller than assigned memory)"),
        ({"delete": "colour"}, 400, "Parameter verification failed."),
        ({"delete": "cores", "cores": 1}, 400, "Parameter verification failed."),
        ({"ide2": "local:iso/x.iso"}, 400, "Parameter verification failed."),
        (
            {"scsi0": "local-lvm:5,import-from=local:import/a"},
            400,
            "Parameter verification failed.",
        ),
        ({"scsi0": "local:5"}, 400, "Parameter verification failed."),
        ({"ipconfig0": "gw=127.0.0.1"}, 400, "Parameter verification failed."),
        ({"ipconfig0": "ip=127.0.0.1"}, 400, "Parameter verification failed."),
    ],
)
async def test_changes_that_are_refused(
    pve: Pve, change: dict[str, Any], status: int, reason: str
) -> None:
    """Nothing of a wrong change is done."""
    await make(pve, memory=2048)
    before = await pve.call("GET", f"{VM}/config")
    refused = await pve.send("PUT", f"{VM}/config", **change)
    assert (refused.status_code, refused.reason_phrase) == (status, reason)
    assert await pve.call("GET", f"{VM}/config") == before


async def test_a_start_that_warns(pve: Pve) -> None:
    """UEFI without a place for its variables works, with a warning."""
    await make(pve, bios="ovmf")
    upid = await pve.call("POST", f"{VM}/status/start")
    await pve.world.proxmox.hypervisors["pve"].tasks.wait(upid)
    status = await pve.call("GET", f"/nodes/pve/tasks/{upid}/status")
    assert status["exitstatus"] == "WARNINGS: 1"
    assert "WARN: no efidisk configured! Using temporary efivars disk." in await pve.log(upid)


async def test_protection(pve: Pve) -> None:
    """A protected VM is not destroyed."""
    await make(pve, protection=1)
    refused = await pve.send("DELETE", VM)
    assert refused.reason_phrase == "can't remove VM 101 - protection mode enabled"


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"net0": "virtio,bridge=vmbr7"}, "bridge 'vmbr7' does not exist"),
        ({"hostpci0": "mapping=none"}, "PCI device mapping not found for 'none'"),
    ],
)
async def test_what_cannot_start(pve: Pve, config: dict[str, str], reason: str) -> None:
    """The VM is made, and its start says what is missing."""
    await make(pve, **config)
    assert await pve.task("POST", f"{VM}/status/start") == reason
    assert (await pve.call("GET", f"{VM}/status/current"))["status"] == "stopped"


async def test_ha_is_looked_up(pve: Pve) -> None:
    """No such resource, until there is one."""
    await make(pve)
    missing = await pve.send("GET", "/cluster/ha/resources/vm:101")
    assert (missing.status_code, missing.reason_phrase) == (500, "no such resource 'vm:101'")
    await pve.call("POST", "/cluster/ha/resources", sid="vm:101")
    shown = await pve.call("GET", "/cluster/ha/resources/vm:101")
    assert (shown["type"], len(shown["digest"])) == ("vm", 40)
    assert "state" not in shown  # PVE::API2::HA::Resources: only what was set
    refused = await pve.send("DELETE", VM)
    assert "used in HA resources" in refused.reason_phrase
