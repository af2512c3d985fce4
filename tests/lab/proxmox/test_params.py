"""Wrong parameters are refused in Proxmox' words, all of them at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from talops.lab.proxmox import server
from talops.lab.proxmox.errors import PveError
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema import api
from talops.lab.proxmox.schema.formats import check_format
from talops.lab.proxmox.schema.params import MISSING, UNKNOWN, verify
from talops.lab.proxmox.vm.config import format_net
from talops.lab.proxmox.vm.drives import format_size, parse_drive, parse_size

if TYPE_CHECKING:
    from tests.lab.proxmox.conftest import Pve

ENUM = "does not have a value in the enumeration"
# As recorded from Proxmox VE 9.2, or as its own description of the API says it.
WRONG = [
    ({"colour": "red"}, {"colour": UNKNOWN}),
    ({"cores": "four"}, {"cores": "type check ('integer') failed - got 'four'"}),
    ({"cores": "0"}, {"cores": "value must have a minimum value of 1"}),
    ({"cpulimit": "129"}, {"cpulimit": "value must have a maximum value of 128"}),
    ({"onboot": "maybe"}, {"onboot": "type check ('boolean') failed - got 'maybe'"}),
    (
        {"bios": "uefi"},
        {"bios": "value 'uefi' does not have a value in the enumeration 'seabios, ovmf'"},
    ),
    ({"vmid": "99"}, {"vmid": "invalid format - value does not look like a valid VM ID\n"}),
    ({"onboot": "true"}, {"onboot": "type check ('boolean') failed - got 'true'"}),
    ({"sshkeys": "a b"}, {"sshkeys": "invalid format - invalid urlencoded string: a b\n"}),
    ({"tags": "a;c/d"}, {"tags": "invalid format - invalid characters in tag\n"}),
    ({"startup": "foo"}, {"startup": "invalid format - unable to parse startup options\n"}),
    (
        {"cpu": "nocpu"},
        {
            "cpu": "invalid format - Built-in cputype 'nocpu' is not defined (missing "
            "'custom-' prefix?)\n"
        },
    ),
]
# Key, value, and what is said of which key of the value.
STRINGS = [
    ("net0", "model=warp,bridge=vmbr0", f"net0.model: value 'warp' {ENUM}"),
    (
        "net0",
        "virtio=BC:24:11,bridge=vmbr0",
        "net0.macaddr: invalid format - value does not look like a valid unicast MAC address",
    ),
    ("net0", "virtio,mtu=100000", "net0.mtu: value must have a maximum value of 65520"),
    ("net0", "virtio,bridge=vmbr0,tag=4095", "net0.tag: value must have a maximum value of 4094"),
    ("net0", "virtio,bridge=vmbr0,colour=red", f"net0.colour: {UNKNOWN}"),
    ("scsi0", "ssd=1", f"scsi0.file: {MISSING}"),
    ("scsi0", "local-lvm:10,colour=red", f"scsi0.colour: {UNKNOWN}"),
    ("scsi0", "local-lvm:10,cache=lots", f"scsi0.cache: value 'lots' {ENUM}"),
    ("scsi0", "rubbish", "scsi0.file: invalid format - unable to parse volume ID 'rubbish'"),
    ("memory", "8", "memory.current: value must have a minimum value of 16"),
    ("hostpci0", "foo", "hostpci0.host: value does not match the regex pattern"),
    ("machine", "foo", "machine.type: value does not match the regex pattern"),
    ("smbios1", "uuid=zz", "smbios1.uuid: value does not match the regex pattern"),
    ("agent", "foo=1", f"agent.enabled: {MISSING}"),
    ("boot", "foo=1", f"boot.foo: {UNKNOWN}"),
    ("boot", "order=disk0", "boot.order: invalid format - invalid boot device 'disk0'"),
    ("ipconfig0", "gw=127.0.0.1", "ipconfig0.ip: missing property required by 'ipconfig0.gw'"),
    (
        "ipconfig0",
        "ip=foo",
        "ipconfig0.ip: invalid format - value does not look like a valid ipv4 network conf",
    ),
]
CREATE = api.method("POST /nodes/{node}/qemu").properties


@pytest.mark.parametrize(("given", "errors"), WRONG)
def test_wrong_values(given: dict[str, str], errors: dict[str, str]) -> None:
    """Each wrong value has its own sentence."""
    with pytest.raises(PveError) as refused:
        verify(CREATE, {"node": "pve", "vmid": "100", **given}, check_format)
    assert refused.value.status == 400
    assert refused.value.errors == errors


def test_missing_and_wrong_are_told_together() -> None:
    """A client learns all that is wrong from one answer."""
    with pytest.raises(PveError) as refused:
        verify(CREATE, {"node": "pve", "cores": "x", "colour": "red"}, check_format)
    assert set(refused.value.errors) == {"vmid", "cores", "colour"}


@pytest.mark.parametrize(("key", "value", "problem"), STRINGS)
def test_wrong_property_strings(key: str, value: str, problem: str) -> None:
    """Property strings are looked into, key by key, by Proxmox' own description of them."""
    with pytest.raises(PveError) as refused:
        verify(CREATE, {"node": "pve", "vmid": "100", key: value}, check_format)
    (text,) = refused.value.errors.values()
    assert text.startswith("invalid format - format error\n")
    assert any(line.startswith(problem) for line in text.split("\n"))


def test_every_described_call_is_answered() -> None:
    """The lab answers exactly the calls whose description it carries."""
    assert server.PREFIX == "/api2/json"
    assert sorted(route.names()) == sorted(api.document()["methods"])


@pytest.mark.parametrize("name", sorted(api.document()["methods"]))
def test_descriptions_are_whole(name: str) -> None:
    """Each one is read, and names its path's own parameters."""
    found = api.method(name).properties
    assert all(found.find(part) for part in re.findall(r"\{(.+?)\}", name))


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (
            "model=virtio,bridge=vmbr0,firewall=0,macaddr=bc:24:11:00:00:01,queues=4,tag=20",
            "virtio=bc:24:11:00:00:01,bridge=vmbr0,firewall=0,queues=4,tag=20",
        ),
        ("e1000=BC:24:11:00:00:01", "e1000=BC:24:11:00:00:01"),
    ],
)
def test_network_devices_are_stored_sorted(given: str, stored: str) -> None:
    """The model carries the MAC, whose case is kept."""
    assert format_net(given) == stored


def test_a_network_device_gets_a_mac() -> None:
    """Proxmox' own prefix, in upper case."""
    assert format_net("virtio,bridge=vmbr0").startswith("virtio=BC:24:11:")


def test_trailing_commas_are_accepted() -> None:
    """As the provider sends them."""
    drive = parse_drive("file=local:iso/x.iso,media=cdrom,")
    assert drive == {"file": "local:iso/x.iso", "media": "cdrom"}


@pytest.mark.parametrize(
    ("size", "text"),
    [(4 << 20, "4M"), (20 << 30, "20G"), (20481 << 20, "20481M"), (1 << 40, "1T"), (1000, "1000")],
)
def test_sizes(size: int, text: str) -> None:
    """The largest unit that divides it, and back."""
    assert format_size(size) == text
    assert parse_size(text) == size


ANSWERS: list[tuple[str, str, dict[str, Any], int, str]] = [
    ("GET", "/nodes/pve/qemu/abc/config", {}, 400, "Parameter verification failed."),
    ("GET", "/nodes/nowhere/qemu", {}, 500, "hostname lookup 'nowhere' failed"),
    ("GET", "/nonsense", {}, 501, "Method 'GET /nonsense' not implemented"),
    ("POST", "/nodes/pve/qemu", {"vmid": 100, "x": 1}, 400, "Parameter verification failed."),
    (
        "POST",
        "/nodes/pve/qemu",
        {"vmid": 100, "scsi0": "nowhere:10"},
        500,
        "storage 'nowhere' does not exist",
    ),
    (
        "POST",
        "/nodes/pve/qemu",
        {"vmid": 100, "scsi0": "local:10"},
        400,
        "Parameter verification failed.",
    ),
    (
        "POST",
        "/nodes/pve/qemu",
        {"vmid": 100, "pool": "none"},
        403,
        "Permission check failed (pool 'none' does not exist)",
    ),
]


@pytest.mark.parametrize(("method", "path", "params", "status", "reason"), ANSWERS)
async def test_the_shape_of_a_refusal(
    pve: Pve, method: str, path: str, params: dict[str, Any], status: int, reason: str
) -> None:
    """The reason phrase is the message; the body repeats it and names the parameters."""
    answer = await pve.send(method, path, **params)
    assert (answer.status_code, answer.reason_phrase[: len(reason)]) == (status, reason)
    body = answer.json()
    assert body["data"] is None
    assert body["message"].rstrip("\n") == answer.reason_phrase
    assert ("errors" in body) == (status == 400)
