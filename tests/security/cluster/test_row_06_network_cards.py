"""Changes of network cards are ordered like restarts, and a lost link needs its name (row 6)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.tofu.test_judge import judged

from talops.stages.provision import TO_DO, Facts, Provision
from talops.stages.repair.online import OnlineProvision
from talops.tofu.judge import judge
from talops.tofu.ordering import restart_batches
from talops.tofu.plan import read_plan
from talops.tofu.policy import Policy, refusals
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from talops.tofu.judge import Judged

PLANES = ("cp-1", "cp-2", "cp-3")


NIC = {"bridge": "vmbr0", "mac_address": "BC:24:11:00:00:01", "vlan_id": 20}


def nics(*after: dict[str, Any]) -> list[Judged]:
    """The same change of the network cards of three control planes."""
    changes = [
        {"vm": name, "actions": ["update"], "after": {"network_device": [*after]}}
        for name in PLANES
    ]
    return judged({"changes": changes, "attached": "same"})


@pytest.mark.parametrize(
    "after",
    [{**NIC, "bridge": "vmbr9"}, {**NIC, "vlan_id": 30}, {**NIC, "firewall": True}],
    ids=["bridge", "vlan", "firewall"],
)
def test_network_cards_of_all_control_planes_change_at_once(after: dict[str, Any]) -> None:
    """Each may end the connections of its node: one control plane at a time."""
    found = nics(after)
    assert {str(change.effect) for change in found} == {"restarts"}
    assert [batch.names for batch in restart_batches(found, 0)] == [(name,) for name in PLANES]
    assert refusals(found, Policy()) == []


@pytest.mark.parametrize(
    "after",
    [
        [{**NIC, "mac_address": "BC:24:11:00:00:99"}],
        [],
        [{**NIC, "enabled": False}],
        [{**NIC, "disconnected": True}],
        [{**NIC, "mac_address": "BC:24:11:00:00:99"}, NIC],
    ],
    ids=["other MAC", "no card", "disabled", "unplugged", "another card in front"],
)
def test_control_planes_lose_their_link(after: list[dict[str, Any]]) -> None:
    """Talos finds its link by the MAC: a node is never disconnected without its name."""
    found = nics(*after)
    assert {str(change.effect) for change in found} == {"disconnects"}
    assert {r.judged.name for r in refusals(found, Policy())} == {*PLANES}
    (left,) = refusals(found, Policy(allow_disconnect=frozenset({"cp-1", "cp-2"})))
    assert left.hint == "to allow this: --allow-disconnect cp-3"
    assert [batch.names for batch in restart_batches(found, 0)] == [(name,) for name in PLANES]


BRIDGE = {
    "name": "vmbr0",
    "node_name": "pve",
    "address": "10.0.0.2/24",
    "gateway": "10.0.0.1",
    "ports": ["eno1"],
    "vlan_aware": True,
    "autostart": True,
    "comment": "",
}


def bridge(kind: str, **after: Any) -> list[Judged]:
    change = {"actions": ["update"], "before": BRIDGE, "after": {**BRIDGE, **after}}
    where = f'{kind}.this["pve/vmbr0"]'
    entry = {"address": where, "mode": "managed", "type": kind, "change": change}
    return judge(read_plan({"format_version": "1.2", "resource_changes": [entry]}), {})


@pytest.mark.parametrize(
    "kind", ["proxmox_network_linux_bridge", "proxmox_virtual_environment_network_linux_bridge"]
)
@pytest.mark.parametrize(
    "after",
    [
        {"address": None},
        {"ports": []},
        {"ports": ["eno2"]},
        {"gateway": None},
        {"vlan_aware": False},
        {"autostart": False},
    ],
    ids=lambda after: next(iter(after)),
)
def test_a_bridge_of_the_host_loses_its_connection(kind: str, after: dict[str, Any]) -> None:
    """The host and all its VMs would be disconnected."""
    (change,) = found = bridge(kind, **after)
    assert str(change.effect) == "disconnects"
    assert [r.hint for r in refusals(found, Policy())] == [
        "to allow this: --allow-disconnect vmbr0"
    ]
    assert refusals(found, Policy(allow_disconnect=frozenset({"vmbr0"}))) == []


def test_a_bridge_gets_more() -> None:
    """A comment, or a second port, disconnects nothing."""
    (change,) = bridge("proxmox_network_linux_bridge", comment="uplink", ports=["eno1", "eno2"])
    assert str(change.effect) == "online"


def test_what_the_provider_computes_is_not_lost() -> None:
    """bpg/proxmox plans the port and tag of a VLAN again with every change of its comment."""
    kind, before = "proxmox_network_linux_vlan", {"interface": "vmbr1", "vlan": 20, "comment": "a"}
    change = {
        "actions": ["update"],
        "before": before,
        "after": {"comment": "b"},
        "after_unknown": {"interface": True, "vlan": True},
    }
    entry = {"address": f"{kind}.this", "mode": "managed", "type": kind, "change": change}
    (judged,) = judge(read_plan({"format_version": "1.2", "resource_changes": [entry]}), {})
    assert str(judged.effect) == "online"


def test_a_mac_in_another_case_is_the_same_mac() -> None:
    """The card is plugged again, in order, but the node keeps its link."""
    found = nics({**NIC, "mac_address": str(NIC["mac_address"]).lower()})
    assert {str(change.effect) for change in found} == {"restarts"}


@pytest.mark.parametrize(
    "after",
    [{**NIC, "bridge": "vmbr9"}, {**NIC, "mac_address": "BC:24:11:00:00:99"}, None],
    ids=["restarts", "loses its link", "no card"],
)
def test_drift_fix_leaves_network_cards_alone(after: dict[str, Any] | None) -> None:
    """It repairs only what is safe at any time; `up` names the effect in its plan."""
    found = tuple(nics(after) if after else nics())
    nothing: Any = None
    site: Any = SimpleNamespace(cluster=None)
    facts = Facts({"02-platforms/home": found})
    assert OnlineProvision(site, nothing, nothing).plan(facts) == []
    (change,) = Provision(site, nothing, nothing).plan(facts)
    assert change.detail in {"3 to restart", "3 to disconnect"}


def test_every_effect_has_words() -> None:
    """The plan of `up` counts the changes of each."""
    assert TO_DO.keys() == {*Effect}
