"""From which template the VM of each node was cloned, as the state remembers it. Pure.

The provider reads that only when it creates a VM, and Proxmox does not keep it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.tofu.plan import VM, module_key

if TYPE_CHECKING:
    from collections.abc import Mapping


def templates_of(document: Mapping[str, Any]) -> dict[str, int | None]:
    """Node → VMID of its template, from a state as `state pull` prints it; None: not a clone, or
    imported into the state.
    """
    found: dict[str, int | None] = {}
    for resource in document.get("resources") or []:
        if resource.get("type") != VM or resource.get("mode") != "managed":
            continue
        node = module_key(f"{resource.get('module') or ''}.")
        for instance in resource.get("instances") or []:
            if node and not instance.get("deposed"):
                found[node] = _source(instance.get("attributes") or {})
    return found


def _source(attributes: Mapping[str, Any]) -> int | None:
    blocks = attributes.get("clone") or []
    first = blocks[0] if blocks and isinstance(blocks[0], dict) else {}
    number = first.get("vm_id")
    return number if isinstance(number, int) else None
