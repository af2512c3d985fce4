"""From which template a VM was cloned, as the state remembers it."""

from __future__ import annotations

from typing import Any

from talops.tofu.clones import templates_of

VM = "proxmox_virtual_environment_vm"


def vm(node: str, **attributes: Any) -> dict[str, Any]:
    instances = [{"attributes": attributes}]
    module = f'module.node["{node}"]'
    return {"mode": "managed", "type": VM, "module": module, "instances": instances}


def test_templates_of() -> None:
    """By node; a VM from an image, or one that was imported, has none; other resources are left."""
    left_over = vm("w-3", clone=[{"vm_id": 9000}])
    left_over["instances"][0]["deposed"] = "0a1b2c3d"
    state = {
        "resources": [
            vm("cp-1", clone=[{"vm_id": 9000, "node_name": "pve"}]),
            vm("w-1", clone=[]),
            vm("w-2"),
            left_over,
            {**vm("w-4", clone=[{"vm_id": 9000}]), "mode": "data"},
            {"mode": "managed", "type": VM, "instances": [{"attributes": {"clone": []}}]},
        ]
    }
    assert templates_of(state) == {"cp-1": 9000, "w-1": None, "w-2": None}
    assert templates_of({}) == {}
