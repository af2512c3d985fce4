"""Guests with an agent: their addresses, and a shutdown instead of a plug that is pulled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lab_provider.configurations import one_vm

if TYPE_CHECKING:
    from tests.lab_provider.conftest import Workspace
    from tests.lab_provider.fake import Fake

pytestmark = pytest.mark.slow

NODE = "proxmox_virtual_environment_vm.node"
AGENT = ("agent { enabled = false }", 'agent {\n    enabled = true\n    timeout = "2s"\n  }')
POLITE = ("stop_on_destroy = true", "stop_on_destroy = false")


def power(fake: Fake) -> list[str]:
    return [call.rpartition("/")[2] for call in fake.changes() if "/status/" in call]


def test_addresses_come_from_the_agent(workspace: Workspace) -> None:
    """Per interface, as the guest names them."""
    workspace.apply(one_vm("node", 101, AGENT))
    state = workspace.state()[NODE]
    assert state["network_interface_names"] == ["lo", "eth0"]
    assert state["ipv4_addresses"] == [["127.0.0.1"], ["10.0.0.101"]]
    assert state["mac_addresses"] == ["00:00:00:00:00:00", "BC:24:11:00:01:01"]
    assert workspace.plan() == {}


def test_a_guest_with_an_agent_is_shut_down(workspace: Workspace, fake: Fake) -> None:
    """For a change that needs it, and before it is destroyed."""
    workspace.apply(one_vm("node", 101, AGENT, POLITE))
    fake.forget()
    workspace.apply(one_vm("node", 101, AGENT, POLITE, ("cores = 4", "cores = 2")))
    assert power(fake) == ["shutdown", "start"]
    fake.forget()
    workspace.destroy()
    assert power(fake) == ["shutdown"]


def test_a_silent_agent_is_waited_for_and_told(workspace: Workspace, fake: Fake) -> None:
    """Every read takes as long as the timeout says; the VM is there nevertheless."""
    fake.agents = False
    said = workspace.apply(one_vm("node", 101, AGENT))
    assert "error waiting for network interfaces from QEMU agent" in said
    assert fake.running == {101}
