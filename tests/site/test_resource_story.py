"""Resources of OpenTofu, told as parts of a stage and as states of VMs."""

from __future__ import annotations

import pytest

from talops.events import Event, NodeStatus, PartProgress
from talops.pipeline.stage import Reporter
from talops.site.resource_progress import ResourceProgress
from talops.tofu.events import ResourceChange

VM = 'module.node["cp-1"].proxmox_virtual_environment_vm.this'
IMAGE = 'proxmox_download_file.image["pve"]'


@pytest.mark.parametrize(
    ("address", "action", "phase", "part", "vm"),
    [
        (VM, "create", "start", ("VM cp-1", "creating", "start"), "creating"),
        (VM, "create", "complete", ("VM cp-1", "creating", "done"), "running"),
        (VM, "update", "error", ("VM cp-1", "updating", "failed"), "failed"),
        (VM, "delete", "complete", ("VM cp-1", "destroying", "done"), "destroyed"),
        (IMAGE, "create", "progress", (IMAGE, "creating", "progress"), None),
        (VM, "read", "complete", None, None),
    ],
)
def test_story(
    address: str, action: str, phase: str, part: tuple[str, str, str] | None, vm: str | None
) -> None:
    """Every event is passed on; changes of resources are told, of VMs with their node."""
    seen: list[Event] = []
    given = ResourceChange("02-platforms/home", address, action, phase, 2)
    ResourceProgress(Reporter("provision", seen.append))(given)
    told = [PartProgress("provision", *part, 2.0)] if part else []
    states = [NodeStatus("cp-1", vm=vm)] if vm else []
    assert seen == [given, *told, *states]
