"""Calls on VMs that are being cloned: what is refused at once, and what waits and gives up.

From PVE::API2::Qemu: the clone holds its source's configuration shared (exclusively if it runs) and
its target's exclusively, and changes look for a lock before they wait. Recorded on Proxmox VE 9.2:
`VM is locked (clone)` at once for the target, a deletion of the source that ends in `got timeout`.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.proxmox.conftest import running

from talops.lab.faults import parse
from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.lab.proxmox.conftest import Pve

SOURCE, TARGET = "/nodes/pve/qemu/100", "/nodes/pve/qemu/101"
LOCKED = (500, "VM is locked (clone)")


def timeout(vmid: int) -> str:
    return f"can't lock file '/var/lock/qemu-server/lock-{vmid}.conf' - got timeout"


@asynccontextmanager
async def cloning(directory: Path) -> AsyncIterator[Pve]:
    """A lab whose locks are given up after a moment, in the midst of a clone from 100 to 101."""
    async with running(directory / "lab", LabSpec(patience=0.01)) as pve:
        await pve.task("POST", "/nodes/pve/qemu", vmid=100, scsi0="local-lvm:1")
        stall = {"kind": "stall", "task": "qmclone", "step": "copy", "seconds": 30, "times": 1}
        pve.world.faults.add(parse(stall))
        upid = await pve.call("POST", f"{SOURCE}/clone", newid=101)
        while not any("full clone" in line for line in await pve.log(upid)):
            pass
        yield pve
        await pve.call("DELETE", f"/nodes/pve/tasks/{upid}")


@pytest.mark.parametrize(
    ("method", "path", "params", "answer"),
    [
        ("PUT", f"{TARGET}/config", {"cores": 2}, LOCKED),
        ("POST", f"{TARGET}/template", {}, LOCKED),
        ("POST", f"{TARGET}/clone", {"newid": 102}, LOCKED),
        ("PUT", f"{SOURCE}/config", {"cores": 2}, (500, timeout(100))),
        (
            "POST",
            f"{SOURCE}/clone",
            {"newid": 101},
            (500, "unable to create VM 101: config file already exists"),
        ),
        (
            "POST",
            "/nodes/pve/qemu",
            {"vmid": 101},
            (500, "unable to create VM 101 - VM 101 already exists on node 'pve'"),
        ),
    ],
)
async def test_calls_during_a_clone(
    tmp_path: Path, method: str, path: str, params: dict[str, Any], answer: tuple[int, str]
) -> None:
    """The target says that it is locked; the source's lock file is held."""
    async with cloning(tmp_path) as pve:
        refused = await pve.send(method, path, **params)
        assert (refused.status_code, refused.reason_phrase) == answer


@pytest.mark.parametrize(
    ("method", "path", "params", "vmid"),
    [
        ("DELETE", SOURCE, {}, 100),
        ("POST", f"{SOURCE}/status/start", {}, 100),
        ("PUT", f"{SOURCE}/resize", {"disk": "scsi0", "size": "+1G"}, 100),
        ("DELETE", TARGET, {}, 101),
        ("POST", f"{TARGET}/status/start", {}, 101),
    ],
)
async def test_tasks_during_a_clone(
    tmp_path: Path, method: str, path: str, params: dict[str, Any], vmid: int
) -> None:
    """They begin, wait for the configuration and give up."""
    async with cloning(tmp_path) as pve:
        assert await pve.task(method, path, **params) == timeout(vmid)
        assert (await pve.call("GET", f"{TARGET}/status/current"))["lock"] == "clone"


async def test_a_source_is_cloned_by_several_at_once(tmp_path: Path) -> None:
    """They share its lock, and wait for each other's space on the storage only."""
    async with running(tmp_path / "lab") as pve:
        await pve.task("POST", "/nodes/pve/qemu", vmid=100, scsi0="local-lvm:1")
        started = [await pve.call("POST", f"{SOURCE}/clone", newid=n) for n in (101, 102, 103)]
        tasks = pve.world.proxmox.hypervisors["pve"].tasks
        for upid in started:
            await tasks.wait(upid)
        assert [tasks.table[upid].exitstatus for upid in started] == ["OK"] * 3
