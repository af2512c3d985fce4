"""What a node says of its installation while it is waited for."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from talops.machineconfig.generate import MachineConfig
from talops.site import installation
from talops.talos.kinds import UnattendedInstall

NODE: Any = SimpleNamespace(name="cp-1", address="10.0.0.1")
OLDER = MachineConfig("cp-1", True, ({"machine": {"install": {"disk": "/dev/sda"}}},))
NEWER = MachineConfig("cp-1", True, ({"kind": "UnattendedInstallConfig"},))


def fleet(seen: UnattendedInstall | None) -> Any:
    async def find(*_: object) -> UnattendedInstall | None:
        return seen

    talos = SimpleNamespace(resources=SimpleNamespace(find=find))
    return SimpleNamespace(talos=lambda _: contextlib.nullcontext(talos))


@pytest.mark.parametrize(
    ("config", "seen", "expected"),
    [
        (OLDER, UnattendedInstall("failed", "no space"), ""),
        (NEWER, None, ""),
        (NEWER, UnattendedInstall("installed", ""), ""),
        (NEWER, UnattendedInstall("waiting for reboot", ""), "installation waiting for reboot"),
        (
            NEWER,
            UnattendedInstall("pending", "no disk matched the selector"),
            "installation pending: no disk matched the selector",
        ),
        (NEWER, UnattendedInstall("failed", "no space"), "installation failed: no space"),
    ],
)
async def test_a_node_of_1_14_installs_beside_its_other_work(
    config: MachineConfig, seen: UnattendedInstall | None, expected: str
) -> None:
    """It runs its config while it installs, and is done only after the reboot that follows."""
    assert await installation.unfinished(fleet(seen), NODE, config) == expected
