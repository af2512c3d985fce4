"""Tasks: their names, their ends, their locks."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import pytest
from tests.lab.proxmox.conftest import running

from talops.lab.faults import parse
from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lab.proxmox.conftest import Pve

UPID = re.compile(r"UPID:pve:[0-9A-F]{8}:[0-9A-F]{8}:[0-9A-F]{8}:qmcreate:101:root@pam!lab:")
IMPATIENT = LabSpec(patience=0.01)


async def test_a_task_has_a_name_a_status_and_a_log(pve: Pve) -> None:
    """Everything a client polls for."""
    upid = await pve.call("POST", "/nodes/pve/qemu", vmid=101, scsi0="local-lvm:1")
    assert UPID.fullmatch(upid)
    await pve.world.proxmox.hypervisors["pve"].tasks.wait(upid)
    status = await pve.call("GET", f"/nodes/pve/tasks/{upid.replace('!', '%21')}/status")
    assert (status["status"], status["exitstatus"]) == ("stopped", "OK")
    assert (status["user"], status["tokenid"], status["id"]) == ("root@pam", "lab", "101")
    log = await pve.log(upid)
    assert "scsi0: successfully created disk 'local-lvm:vm-101-disk-0,size=1G'" in log
    assert log[-1] == "TASK OK"
    listed = await pve.call("GET", "/nodes/pve/tasks", vmid=101)
    assert [row["upid"] for row in listed] == [upid]


async def test_an_unknown_task_is_not_there_yet(pve: Pve) -> None:
    """400, which the provider takes as a reason to ask again."""
    answer = await pve.send("GET", "/nodes/pve/tasks/UPID:pve:0:0:0:x:1:root@pam:/status")
    assert answer.status_code == 400


@pytest.mark.parametrize("step", ["start", "allocate", "config"])
async def test_a_failed_creation_leaves_nothing(step: str, pve: Pve) -> None:
    """The VM and the disks it had already got are taken back, however early it fails."""
    pve.world.faults.add(parse({"kind": "task", "task": "qmcreate", "step": step}))
    ended = await pve.task("POST", "/nodes/pve/qemu", vmid=101, scsi0="local-lvm:1")
    assert ended.endswith(f"injected failure at step '{step}'")
    assert await pve.call("GET", "/nodes/pve/qemu") == []
    assert await pve.call("GET", "/nodes/pve/storage/local-lvm/content") == []


async def test_a_vm_is_locked_while_it_is_made(pve: Pve) -> None:
    """Visible at once, locked until the task ends."""
    pve.world.faults.add(
        parse({"kind": "stall", "task": "qmcreate", "step": "config", "seconds": 60})
    )
    upid = await pve.call("POST", "/nodes/pve/qemu", vmid=101)
    status = await pve.call("GET", "/nodes/pve/qemu/101/status/current")
    assert status["lock"] == "create"
    await pve.call("DELETE", f"/nodes/pve/tasks/{upid}")
    await pve.world.proxmox.hypervisors["pve"].tasks.wait(upid)
    assert await pve.call("GET", "/nodes/pve/qemu") == []


async def test_a_locked_vm_refuses_changes(pve: Pve) -> None:
    """With the lock's name, and until the lock goes."""
    await pve.task("POST", "/nodes/pve/qemu", vmid=101)
    await pve.http.aclose()
    async with running_root(pve) as root:
        await root.call("PUT", "/nodes/pve/qemu/101/config", lock="backup")
        refused = await root.send("PUT", "/nodes/pve/qemu/101/config", cores=2)
        assert (refused.status_code, refused.reason_phrase) == (500, "VM is locked (backup)")
        assert (
            await root.task("POST", "/nodes/pve/qemu/101/status/start") == "VM is locked (backup)"
        )
        await root.call("PUT", "/nodes/pve/qemu/101/config", delete="lock", skiplock=1)
        assert await root.task("POST", "/nodes/pve/qemu/101/status/start") == "OK"


async def test_storage_locks_collide(tmp_path: Path) -> None:
    """A second task that needs the same storage gives up after its patience, as on a real host."""
    async with running(tmp_path / "lab", IMPATIENT) as pve:
        stall = {"kind": "stall", "task": "qmcreate", "step": "allocate", "seconds": 30, "times": 1}
        pve.world.faults.add(parse(stall))
        first = await pve.call("POST", "/nodes/pve/qemu", vmid=101, scsi0="local-lvm:1")
        ended = await pve.task("POST", "/nodes/pve/qemu", vmid=102, scsi0="local-lvm:1")
        assert ended == (
            "unable to create VM 102 - can't lock file "
            "'/var/lock/pve-manager/pve-storage-local-lvm' - got timeout"
        )
        await pve.call("DELETE", f"/nodes/pve/tasks/{first}")


async def test_config_locks_collide(tmp_path: Path) -> None:
    """A change while a task works on the VM waits, and then gives up."""
    async with running(tmp_path / "lab", IMPATIENT) as pve:
        await pve.task("POST", "/nodes/pve/qemu", vmid=101)
        stall = {"kind": "stall", "task": "qmstart", "step": "power-on", "seconds": 30}
        pve.world.faults.add(parse(stall))
        upid = await pve.call("POST", "/nodes/pve/qemu/101/status/start")
        refused = await pve.send("PUT", "/nodes/pve/qemu/101/config", cores=2)
        assert refused.reason_phrase == (
            "can't lock file '/var/lock/qemu-server/lock-101.conf' - got timeout"
        )
        await pve.call("DELETE", f"/nodes/pve/tasks/{upid}")


async def test_parallel_creations_share_a_storage(pve: Pve) -> None:
    """Twenty at once, each with its own disk."""
    ended = await asyncio.gather(
        *(pve.task("POST", "/nodes/pve/qemu", vmid=n, scsi0="local-lvm:1") for n in range(200, 220))
    )
    assert set(ended) == {"OK"}
    volumes = await pve.call("GET", "/nodes/pve/storage/local-lvm/content")
    assert sorted(v["volid"] for v in volumes) == [
        f"local-lvm:vm-{n}-disk-0" for n in range(200, 220)
    ]


async def test_a_task_that_the_host_did_not_survive(tmp_path: Path) -> None:
    """It ends with `unexpected status`, and its VM stays locked, as after a crash."""
    async with running(tmp_path / "lab") as pve:
        host = pve.world.proxmox.hypervisors["pve"]
        stall = {"kind": "stall", "task": "qmcreate", "step": "config", "seconds": 60}
        pve.world.faults.add(parse(stall))
        upid = await pve.call("POST", "/nodes/pve/qemu", vmid=101)
        # What a kill -9 leaves: the database as of the last whole step.
        record, vm = host.tasks.table[upid], host.vms["101"]
        await pve.call("DELETE", f"/nodes/pve/tasks/{upid}")
        await host.tasks.wait(upid)
        host.tasks.table.put(upid, record)
        host.vms.put("101", vm)
        host.store.commit()
    async with running(tmp_path / "lab") as pve:
        status = await pve.call("GET", f"/nodes/pve/tasks/{upid}/status")
        assert status["exitstatus"] == "unexpected status"
        assert (await pve.call("GET", "/nodes/pve/qemu/101/status/current"))["lock"] == "create"


def running_root(pve: Pve) -> RootLogin:
    return RootLogin(pve)


class RootLogin:
    """The same host with a password login: root itself, not a token of root."""

    def __init__(self, pve: Pve) -> None:
        from tests.lab.proxmox.conftest import Pve as Client

        self._client = Client(pve.world, token="-")

    async def __aenter__(self) -> Pve:
        password = self._client.world.identity.credentials.password
        login = {"username": "root@pam", "password": password}
        given = await self._client.call("POST", "/access/ticket", **login)
        self._client.http.cookies.set("PVEAuthCookie", given["ticket"])
        self._client.http.headers["CSRFPreventionToken"] = given["CSRFPreventionToken"]
        return self._client

    async def __aexit__(self, *_: object) -> None:
        await self._client.http.aclose()
