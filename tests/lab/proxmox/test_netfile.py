"""Network changes that Proxmox refuses: the rules of PVE::Network::Interfaces and API2::Network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.lab.proxmox.conftest import Pve

REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"iface": "vmbr9", "type": "bridge", "bridge_ports": "eno9"},
        "bridge 'vmbr9' - unable to find bridge port 'eno9'",
    ),
    (
        {"iface": "vmbr9", "type": "bridge", "bridge_ports": "eno2", "mtu": 9000},
        "interface 'eno2' - mtu 1500 is lower than 'vmbr9' - mtu 9000",
    ),
    ({"iface": "eno9.20", "type": "vlan"}, "vlan 'eno9.20' - unable to find parent 'eno9'"),
    (
        {"iface": "eno2.5000", "type": "vlan"},
        "vlan 'eno2.5000' - vlan-id 5000 should be <= 4094",
    ),
    (
        {"iface": "bond0", "type": "bond", "slaves": "eno2 vmbr0"},
        "bond 'bond0' - wrong interface type on slave 'vmbr0' ('bridge' != 'eth or bond')",
    ),
    (
        {"iface": "vmbr9", "type": "OVSBridge"},
        "Open VSwitch is not installed (need package 'openvswitch-switch')",
    ),
]


@pytest.mark.parametrize(("given", "reason"), REFUSED)
async def test_files_that_cannot_be_written(pve: Pve, given: dict[str, Any], reason: str) -> None:
    """The change is refused as a whole, and nothing is pending."""
    refused = await pve.send("POST", "/nodes/pve/network", **given)
    assert (refused.status_code, refused.reason_phrase) == (500, reason)
    assert "changes" not in (await pve.send("GET", "/nodes/pve/network")).json()


async def test_what_is_pending_is_shown_beside_the_list(pve: Pve) -> None:
    """As a difference of two files, until a reload or a revert."""
    await pve.call("POST", "/nodes/pve/network", iface="vmbr9", type="bridge")
    assert "+vmbr9 type bridge" in (await pve.send("GET", "/nodes/pve/network")).json()["changes"]
    assert await pve.task("PUT", "/nodes/pve/network") == "OK"
    assert "changes" not in (await pve.send("GET", "/nodes/pve/network")).json()
