"""What goes wrong at Proxmox is told, and the next run goes on from what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lab_provider.configurations import VM, one_vm
from tests.lab_provider.fake_guests import RefusalError, Task

if TYPE_CHECKING:
    from tests.lab_provider.conftest import Workspace
    from tests.lab_provider.fake import Fake

pytestmark = pytest.mark.slow

NODE = "proxmox_virtual_environment_vm.node"


def failing_apply(workspace: Workspace) -> str:
    result = workspace.run("apply", "-auto-approve", "-no-color")
    assert result.code == 1, result.out
    return " ".join(result.out.split())  # OpenTofu breaks lines where it likes


def test_a_failed_task_is_told_with_its_log(workspace: Workspace, fake: Fake) -> None:
    """The exit status and the log of the task are in the message; nothing is in the state."""
    fake.fail("/nodes/pve1/qemu", Task("storage is full", ["allocating", "no space left"]))
    workspace.write(VM)
    said = failing_apply(workspace)
    assert "storage is full" in said
    assert "no space left" in said
    assert workspace.state() == {}


def test_a_vm_that_does_not_start_is_tainted(workspace: Workspace, fake: Fake) -> None:
    """It is there, so it is in the state; it is not right, so it is made anew."""
    fake.fail("/status/start", Task("start failed: no memory"))
    workspace.write(VM)
    assert "no memory" in failing_apply(workspace)
    assert workspace.plan()[NODE]["actions"] == ["delete", "create"]
    workspace.apply()
    assert workspace.plan() == {}
    assert list(fake.vms) == [101]


def test_warnings_of_a_task_are_passed_on(workspace: Workspace, fake: Fake) -> None:
    """A task with warnings has worked."""
    log = ["ok", "WARN: no more PCI slots"]
    fake.fail("/status/start", Task("WARNINGS: 1", log))
    workspace.write(VM)
    assert "no more PCI slots" in workspace.apply()
    assert workspace.plan() == {}


def test_a_server_error_on_creation_is_tried_again(workspace: Workspace, fake: Fake) -> None:
    """Twice a 5xx, then it works: one VM, no error."""
    fake.fail("POST /nodes/pve1/qemu", RefusalError(596, "Connection timed out"))
    fake.fail("POST /nodes/pve1/qemu", RefusalError(500, "got timeout"))
    workspace.apply(VM)
    assert list(fake.vms) == [101]


def test_a_locked_vm_is_an_error_at_once(with_vm: Workspace, fake: Fake) -> None:
    """`VM is locked` is not waited for; afterwards the change is still to be done."""
    fake.fail("PUT /nodes/pve1/qemu/101/config", RefusalError(500, "VM is locked (backup)"))
    with_vm.write(one_vm("node", 101, ('"a node"', '"the node"')))
    assert "VM is locked (backup)" in failing_apply(with_vm)
    assert with_vm.plan()[NODE]["attributes"] == ["description"]


def test_parameters_that_proxmox_refuses_are_named(workspace: Workspace, fake: Fake) -> None:
    """The field and its complaint reach the reader."""
    errors = {"net0": "bridge 'vmbr0' does not exist here"}
    refusal = RefusalError(400, "Parameter verification failed.", errors)
    fake.fail("POST /nodes/pve1/qemu", refusal)
    workspace.write(VM)
    said = failing_apply(workspace)
    assert "Parameter verification failed." in said
    assert "net0" in said


def test_no_rights_is_not_the_same_as_nothing_there(with_vm: Workspace, fake: Fake) -> None:
    """A refused read is an error: the VM must not be planned anew."""
    fake.fail("/cluster/resources", RefusalError(403, "Permission check failed"))
    result = with_vm.run("plan", "-no-color")
    assert result.code == 1
    assert "Permission check failed" in result.out


def test_a_destroy_that_fails_can_be_repeated(with_vm: Workspace, fake: Fake) -> None:
    """The VM stays in the state until it is really gone."""
    fake.fail("/status/stop", Task("can't lock file"))
    result = with_vm.run("destroy", "-auto-approve", "-no-color")
    assert result.code == 1
    assert "can't lock file" in result.out
    assert NODE in with_vm.state()
    with_vm.destroy()
    assert fake.vms == {}


def test_a_vm_without_an_id_gets_one_of_its_own(workspace: Workspace, fake: Fake) -> None:
    """Several at a time never get the same."""
    one = VM.replace("  vm_id           = 101\n", "")
    many = "".join(one.replace(' "node" {', f' "node{i}" {{') for i in range(6))
    workspace.apply(many)
    assert sorted(fake.vms) == [100, 101, 102, 103, 104, 105]
    assert workspace.plan() == {}
