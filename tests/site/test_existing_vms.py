"""What Proxmox says of the VMs of a plan."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from tests.tofu.world import node

from talops.errors import DeniedError, UnreachableError
from talops.proxmox.client import Access, Token
from talops.proxmox.vm_configs import disk_slots
from talops.redaction import Secret
from talops.site.layer_access import proxmox_access
from talops.site.proxmox.existing_vms import find_lost, lost_vms, read_attached
from talops.tofu.plan import VM, Change

if TYPE_CHECKING:
    from collections.abc import Iterator

RIGHT = Token("u@pve!t", Secret("right"))
CONFIG = {
    "scsi0": "local-lvm:vm-101-disk-1,size=40G",
    "scsi4": "ceph:vm-9999-pvc-1,size=10G",
    "virtio1": "local-lvm:vm-101-disk-2,size=1G",
    "ide2": "local-lvm:vm-101-cloudinit,media=cdrom",
    "ide3": "local:iso/talos.iso,media=cdrom",
    "sata0": "none,media=cdrom",
    "efidisk0": "local-lvm:vm-101-disk-0,size=4M",
    "tpmstate0": "local-lvm:vm-101-disk-3",
    "unused0": "local-lvm:vm-101-disk-9",
    "scsihw": "virtio-scsi-single",
    "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0",
}


def change(vm_id: int) -> Change:
    values = node("w-1", vm_id=vm_id)
    return Change(f"vm.{vm_id}", VM, ("update",), values, values, {}, ({}, {}))


@pytest.fixture
def proxmox() -> Iterator[str]:
    """Answers with the right token only; its list is that of a host without pvestatd."""
    rows = [{"vmid": vm_id, "node": "pve2", "type": "qemu"} for vm_id in (101, 103, 104)]
    answers: dict[str, Any] = {
        "/api2/json/cluster/resources?type=vm": rows,
        "/api2/json/nodes/pve2/qemu/101/config": CONFIG,
        "/api2/json/nodes/pve2/qemu/103/config": {"name": "w-1"},
        "/api2/json/nodes/pve2/qemu/103/status/current": {"status": "stopped"},
    }
    gone = "/api2/json/nodes/pve2/qemu/104/config"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            allowed = self.headers.get("Authorization") == "PVEAPIToken=u@pve!t=right"
            body = json.dumps({"data": answers.get(self.path) if allowed else None}).encode()
            if self.path == gone:
                self.send_response(500, "Configuration file 'x/104.conf' does not exist")
            else:
                self.send_response(200 if allowed else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_slots() -> None:
    """Disks count; CD-ROMs, cloud-init, EFI, TPM and unused volumes do not."""
    assert disk_slots(CONFIG) == {"scsi0", "scsi4", "virtio1"}


async def test_read(proxmox: str) -> None:
    """A VM is looked up where it is now; one that Proxmox does not show stays unknown."""
    access = Access(proxmox, RIGHT)
    found = await read_attached(access, [change(101), change(102), change(104)])
    assert found == {101: frozenset({"scsi0", "scsi4", "virtio1"})}


async def test_a_lost_vm_is_known_by_its_config(proxmox: str) -> None:
    """The list need not have its name yet; one that does not exist by then has no owner."""
    access = Access(proxmox, RIGHT)
    assert await find_lost(access, [change(103), change(104)]) == {"vm.103": "pve2/103"}


async def test_denied_is_not_empty(proxmox: str) -> None:
    """A token that may not look is an error, not a VM without disks."""
    with pytest.raises(DeniedError):
        await read_attached(Access(proxmox, Token("u@pve!t", Secret("wrong"))), [change(101)])


async def test_a_login_is_necessary(proxmox: str) -> None:
    """Without credentials a VM is not one without disks, and no host is asked."""
    access = proxmox_access({"PROXMOX_VE_ENDPOINT": proxmox})
    assert access is not None
    with pytest.raises(DeniedError, match="no credentials"):
        await read_attached(access, [change(101)])


def test_the_login_of_the_provider() -> None:
    """A token is used before a password; half a password is not used."""
    given = {"PROXMOX_VE_ENDPOINT": "https://pve:8006", "PROXMOX_VE_USERNAME": "u@pam"}
    assert proxmox_access({}) is None
    assert (found := proxmox_access(given))
    assert found.login is None
    given["PROXMOX_VE_PASSWORD"] = "p"
    assert (found := proxmox_access(given))
    assert found.who == "u@pam"
    given["PROXMOX_VE_API_TOKEN"] = "u@pve!t=value=with="
    assert (found := proxmox_access(given))
    assert found.login == Token("u@pve!t", Secret("value=with="))


async def test_unreachable_is_not_empty() -> None:
    """A Proxmox that does not answer is an error, not a VM without disks."""
    with pytest.raises(UnreachableError):
        await read_attached(Access("http://127.0.0.1:9", RIGHT), [change(101)])


async def test_nothing_to_ask() -> None:
    """A plan that only creates sends no request."""
    fresh = Change("vm.1", VM, ("create",), {}, node("w-1"), {}, ({}, {}))
    assert await read_attached(Access("http://127.0.0.1:9", RIGHT), [fresh]) == {}


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ([{"vmid": 101, "name": "w-1", "node": "pve2"}], {"vm.101": "pve2/101"}),
        ([{"vmid": 101, "name": "somebody-else", "node": "pve2"}], {}),
        ([{"vmid": 555, "name": "w-1", "node": "pve2"}], {}),
        ([{"vmid": 101, "name": "w-1", "node": "pve2", "template": 1}], {}),
        ([], {}),
    ],
)
def test_lost(listed: list[dict[str, Any]], found: dict[str, str]) -> None:
    """Only a VM with the planned number and the planned name is one that we lost."""
    assert lost_vms(listed, [change(101)]) == found


def test_lost_without_number() -> None:
    """Where Proxmox chooses the number, the name must be the only one of its kind."""
    unnumbered = Change("vm.x", VM, ("create",), {}, node("w-1", vm_id=None), {}, ({}, {}))
    one = [{"vmid": 7, "name": "w-1", "node": "pve"}]
    assert lost_vms(one, [unnumbered]) == {"vm.x": "pve/7"}
    assert lost_vms([*one, {"vmid": 8, "name": "w-1", "node": "pve"}], [unnumbered]) == {}
