"""What configurations may ask about things they do not manage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.lab_provider.configurations import VM

if TYPE_CHECKING:
    from tests.lab_provider.conftest import Workspace
    from tests.lab_provider.fake import Fake

pytestmark = pytest.mark.slow

ASKED = """
data "proxmox_virtual_environment_nodes" "all" {}
data "proxmox_virtual_environment_node" "one" { node_name = "pve1" }
data "proxmox_version" "pve" {}
data "proxmox_virtual_environment_vms" "talos" {
  tags = ["talos"]
  filter {
    name   = "name"
    values = ["^cp-"]
    regex  = true
  }
}
data "proxmox_virtual_environment_vms" "off" {
  filter {
    name   = "status"
    values = ["stopped"]
  }
}
data "proxmox_virtual_environment_vm" "node" {
  node_name = "pve1"
  vm_id     = 101
}
data "proxmox_datastores" "all" { node_name = "pve1" }
data "proxmox_file" "iso" {
  content_type = "iso"
  datastore_id = "local"
  node_name    = "pve1"
  file_name    = "talos.iso"
}
data "proxmox_hardware_mapping_pci" "gpu" { name = "gpu0" }
data "proxmox_hardware_pci" "gpus" {
  node_name = "pve1"
  filters   = { class = "03" }
}
data "proxmox_virtual_environment_roles" "all" {}
data "proxmox_virtual_environment_users" "all" {}
data "proxmox_virtual_environment_groups" "all" {}
data "proxmox_virtual_environment_pools" "all" {}
"""
# Address → some of the values it must have.
EXPECTED: dict[str, dict[str, Any]] = {
    "proxmox_virtual_environment_nodes.all": {
        "names": ["pve1", "pve2"],
        "online": [True, True],
        "cpu_count": [8, 8],
    },
    "proxmox_virtual_environment_node.one": {"cpu_cores": 4, "cpu_count": 8, "uptime": 1000},
    "proxmox_version.pve": {"version": "9.1.1", "release": "9.1", "repository_id": "abcdef"},
    "proxmox_virtual_environment_vms.talos": {
        "vms": [
            {
                "name": "cp-1",
                "node_name": "pve1",
                "status": "running",
                "tags": ["controlplane", "talos"],
                "template": False,
                "vm_id": 101,
            }
        ]
    },
    "proxmox_virtual_environment_vms.off": {"vms": []},
    "proxmox_virtual_environment_vm.node": {"status": "running", "template": False, "id": "101"},
    "proxmox_file.iso": {"id": "local:iso/talos.iso", "file_size": 4096, "file_format": "iso"},
    "proxmox_virtual_environment_roles.all": {
        "role_ids": ["Auditor"],
        "privileges": [["VM.Audit"]],
        "special": [False],
    },
    "proxmox_virtual_environment_users.all": {
        "user_ids": ["talops@pve"],
        "enabled": [True],
        "comments": ["robot"],
        "expiration_dates": ["1970-01-01T00:00:00Z"],
    },
    "proxmox_virtual_environment_groups.all": {"group_ids": ["ops"], "comments": [""]},
    "proxmox_virtual_environment_pools.all": {"pool_ids": ["k8s"]},
    "proxmox_hardware_mapping_pci.gpu": {
        "id": "gpu0",
        "map": [
            {
                "comment": None,
                "id": "10de:1b38",
                "iommu_group": None,
                "node": "pve1",
                "path": "0000:01:00.0",
                "subsystem_id": None,
            }
        ],
    },
}


def test_every_question_is_answered(with_vm: Workspace, fake: Fake) -> None:
    """The answers are what Proxmox has, under the names of the real provider."""
    fake.files["local:iso/talos.iso"] = 4096
    fake.mappings["gpu0"] = {"map": ["id=10de:1b38,node=pve1,path=0000:01:00.0"]}
    fake.roles["Auditor"] = ["VM.Audit"]
    fake.users["talops@pve"] = {"comment": "robot", "enable": 1, "expire": 0}
    fake.groups["ops"] = {}
    fake.pools["k8s"] = {"members": set()}
    with_vm.apply(VM + ASKED)
    state = with_vm.state()
    for address, values in EXPECTED.items():
        found = state[f"data.{address}"]
        assert {name: found[name] for name in values} == values, address
    stores = state["data.proxmox_datastores.all"]["datastores"]
    assert [store["id"] for store in stores] == ["local", "local-lvm"]
    assert stores[0]["content_types"] == ["import", "iso"]
    devices = state["data.proxmox_hardware_pci.gpus"]["devices"]
    assert [(gpu["id"], gpu["iommu_group"]) for gpu in devices] == [("0000:01:00.0", 14)]


def test_a_vm_that_is_not_there_is_an_error(with_vm: Workspace) -> None:
    """Asking for one VM is asking for it to be there."""
    question = ASKED.replace("vm_id     = 101", "vm_id     = 102")
    with_vm.write(VM + question)
    result = with_vm.run("plan", "-no-color")
    assert result.code == 1
    assert "102" in result.out
