"""Layer 01: what exists is imported by its own ID, what does not exist is named."""

from __future__ import annotations

from talops.adoption.foundation import asked_of, claim_settings
from talops.inventory.sections import Hypervisors
from talops.proxmox.accounts import Rule
from talops.proxmox.settings import Settings

GIVEN = Hypervisors.model_validate(
    {
        "nodes": [
            {"name": "pve", "bridges": [{"name": "vmbr1"}], "vlans": [{"name": "vmbr1.20"}]},
            {"name": "pve2"},
        ],
        "storages": [{"name": "tank", "type": "dir", "path": "/tank", "content": ["iso"]}],
        "roles": [{"name": "Reader", "privileges": ["VM.Audit"]}],
        "users": [{"name": "reader@pve"}],
        "tokens": [{"user": "reader@pve", "name": "ci"}],
        "acls": [{"path": "/vms/111", "role": "Reader", "token": "reader@pve!ci"}],
        "pci_mappings": [{"name": "gpu0", "devices": []}],
        "pools": [{"name": "k8s"}],
    }
)
THERE = Settings(
    storages={"tank": "dir"},
    interfaces={"pve/vmbr1": "bridge", "pve/vmbr1.20": "vlan"},
    roles=frozenset({"Reader"}),
    users={"reader@pve": frozenset({"ci"})},
    rules=frozenset({Rule("/vms/111", "Reader", "reader@pve!ci", propagate=True)}),
    mappings=frozenset({"gpu0"}),
    pools=frozenset({"k8s"}),
)


def test_every_kind_is_imported() -> None:
    """Addresses as layer 01 has them; the IDs are those of the documentation of bpg/proxmox."""
    claims, doubts = claim_settings(GIVEN, (), THERE)
    assert doubts == []
    assert {claim.address: claim.identity for claim in claims} == {
        'proxmox_network_linux_bridge.this["pve/vmbr1"]': "pve:vmbr1",
        'proxmox_network_linux_vlan.this["pve/vmbr1.20"]': "pve:vmbr1.20",
        'proxmox_storage_directory.this["tank"]': "tank",
        'proxmox_virtual_environment_role.this["Reader"]': "Reader",
        'proxmox_virtual_environment_user.this["reader@pve"]': "reader@pve",
        'proxmox_user_token.this["reader@pve!ci"]': "reader@pve!ci",
        'proxmox_acl.this["/vms/111 Reader reader@pve!ci"]': "/vms/111?reader@pve!ci?Reader",
        'proxmox_hardware_mapping_pci.this["gpu0"]': "gpu0",
        'proxmox_virtual_environment_pool.this["k8s"]': "k8s",
    }


def test_what_is_missing_or_of_another_kind_is_named() -> None:
    """A storage with the same name and another type is another storage."""
    other = Settings(storages={"tank": "nfs"}, interfaces={"pve/vmbr1": "OVSBridge"})
    claims, doubts = claim_settings(GIVEN, (), other)
    assert claims == []
    assert "storage tank is of type nfs, not dir" in doubts
    assert "bridge pve/vmbr1 is of type OVSBridge, not bridge" in doubts
    assert "user reader@pve does not exist" in doubts
    assert len(doubts) == 9


def test_what_the_state_lists_is_left_alone() -> None:
    """A second adoption asks for the rest only."""
    listed = {claim.address for claim in claim_settings(GIVEN, (), THERE)[0]}
    assert claim_settings(GIVEN, listed, Settings()) == ([], [])


def test_only_what_is_named_is_read() -> None:
    """A host without bridges and VLANs is not asked for its network."""
    asked = asked_of(GIVEN)
    assert (asked.hosts, asked.users) == (frozenset({"pve"}), frozenset({"reader@pve"}))
    assert asked_of(Hypervisors()) == type(asked)()
