"""Wrong parameters are refused in Proxmox' words, all of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from talops.lab.proxmox.drives import format_size, parse_drive, parse_size
from talops.lab.proxmox.errors import PveError
from talops.lab.proxmox.params import UNKNOWN, schema
from talops.lab.proxmox.vmconfig import format_net, normalise
from talops.lab.proxmox.vmparams import CREATE

if TYPE_CHECKING:
    from tests.lab.proxmox.conftest import Pve

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
    ({"vmid": "99"}, {"vmid": "value must have a minimum value of 100"}),
]


@pytest.mark.parametrize(("given", "errors"), WRONG)
def test_wrong_values(given: dict[str, str], errors: dict[str, str]) -> None:
    """Each wrong value has its own sentence."""
    with pytest.raises(PveError) as refused:
        schema(CREATE).verify({"vmid": "100", **given})
    assert refused.value.status == 400
    assert refused.value.errors == errors


def test_missing_and_wrong_are_told_together() -> None:
    """A client learns all that is wrong from one answer."""
    with pytest.raises(PveError) as refused:
        schema(CREATE).verify({"cores": "x", "colour": "red"})
    assert set(refused.value.errors) == {"vmid", "cores", "colour"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("net0", "model=warp,bridge=vmbr0"),
        ("net0", "virtio=BC:24:11,bridge=vmbr0"),
        ("net0", "virtio,bridge=vmbr0,tag=4095"),
        ("net0", "virtio,bridge=vmbr0,colour=red"),
        ("scsi0", "ssd=1"),
        ("scsi0", "local-lvm:10,colour=red"),
        ("scsi0", "local-lvm:10,cache=lots"),
        ("memory", "8"),
        ("name", "not_a_name"),
        ("serial0", "nothing"),
        ("hostpci0", "pcie=1"),
    ],
)
def test_wrong_property_strings(key: str, value: str) -> None:
    """Property strings are looked into, key by key."""
    with pytest.raises(PveError) as refused:
        normalise({key: value})
    assert list(refused.value.errors) == [key]


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
    drive = parse_drive("ide3", "file=local:iso/x.iso,media=cdrom,")
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
        500,
        "pool 'none' does not exist",
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
    assert body["message"] == f"{answer.reason_phrase}\n"
    assert ("errors" in body) == (status == 400)
