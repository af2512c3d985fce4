"""Nodes move from one template to another, also when the command is killed in between."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.living import does, kube_nodes

from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from tests.e2e.conftest import Lab

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(1800)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
OLD, NEW = 9000, 9001
WORKERS = ("e2e-w-1", "e2e-w-2")


async def test_another_template(make_lab: MakeLab) -> None:
    """Built, nodes cloned again one by one, the old one removed; a killed command is continued."""
    async with make_lab(spec=LabSpec(timing=0.0), control_planes=1, workers=2) as lab:
        _template(lab, OLD)
        await does(lab, "template", "build")
        await does(lab, "secrets", "init")
        await does(lab, "up", "--yes")
        assert "all nodes are cloned from" in (await does(lab, "retemplate")).everything

        _template(lab, NEW)
        before = _machines(lab)
        refused = await lab.talops("retemplate", "--yes")
        assert refused.code == 1
        assert "e2e-cp-1 is the only control plane" in refused.everything
        words = ("retemplate", "--nodes", "e2e-w-.*")
        shown = await lab.talops(*words, "--dry-run")
        assert shown.code == 2, shown.everything
        assert f"({NEW})" in shown.everything
        assert _machines(lab) == before

        await _killed_in_between(lab, before, *words, "--yes")
        await does(lab, *words, "--yes")
        after = _machines(lab)
        assert {name for name in WORKERS if after[name] != before[name]} == set(WORKERS)
        assert after["e2e-cp-1"] == before["e2e-cp-1"]
        assert await kube_nodes(lab) == {"e2e-cp-1", *WORKERS}
        assert _templates(lab) == {OLD, NEW}, "the control plane still stands on the old one"
        assert "nothing to change" in (await does(lab, "up", "--yes")).everything


def _template(lab: Lab, number: int) -> None:
    file = lab.root / "cluster.yaml"
    kept = [
        line
        for line in file.read_text(encoding="utf-8").splitlines()
        if not line.startswith(("boot:", "template_vm_id:"))
    ]
    text = "\n".join([*kept, "boot: template", f"template_vm_id: {number}"])
    file.write_text(text + "\n", encoding="utf-8")


async def _killed_in_between(lab: Lab, before: dict[str, str], *words: str) -> None:
    """When the VM of the first node has been destroyed."""
    process = await lab.start(*words)
    while process.returncode is None:
        if any(name not in _machines(lab) for name in WORKERS):
            os.killpg(process.pid, signal.SIGKILL)
            break
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), 0.05)
    await process.wait()
    assert any(name not in _machines(lab) for name in WORKERS), before


def _machines(lab: Lab) -> dict[str, str]:
    vms = lab.vms()
    return {name: vm.config["smbios1"] for name, vm in vms.items() if name.startswith("e2e-")}


def _templates(lab: Lab) -> set[int]:
    (pve,) = lab.world.proxmox.hypervisors.values()
    return {int(number) for number, vm in pve.vms.items() if vm.config.get("template")}
