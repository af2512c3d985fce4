"""The real provider when things are not as they should be: few rights, other logins, faults."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.proxmox.conftest import running
from tests.lab.proxmox.opentofu import prepare

from talops.lab.faults import parse

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lab.proxmox.conftest import Pve
    from tests.lab.proxmox.opentofu import Tofu
    from tests.real_provider import Programs

pytestmark = pytest.mark.slow
# What it takes to own the VM of the iso module, and where.
NEEDED = {
    "/": "Sys.Modify",  # for `startup`
    "/vms": "VM.Allocate VM.Audit VM.Config.CPU VM.Config.Disk VM.Config.HWType "
    "VM.Config.Memory VM.Config.Network VM.Config.Options VM.PowerMgmt",
    "/storage/local-lvm": "Datastore.AllocateSpace Datastore.Audit",
    "/storage/local": "Datastore.Allocate Datastore.AllocateTemplate Datastore.Audit",
    "/nodes/pve": "Sys.AccessNetwork",
    "/sdn/zones/localnetwork/vmbr0": "SDN.Use",
}


async def grant(pve: Pve, needed: dict[str, str]) -> str:
    """A user with a role per path, and the token that has that user's rights."""
    await pve.call("POST", "/access/users", userid="talops@pve")
    for number, (path, names) in enumerate(needed.items()):
        role = f"Role{number}"
        await pve.call("POST", "/access/roles", roleid=role, privs=names.replace(" ", ","))
        await pve.call("PUT", "/access/acl", path=path, roles=role, users="talops@pve")
    made = await pve.call("POST", "/access/users/talops@pve/token/tf", privsep=0)
    return f"{made['full-tokenid']}={made['value']}"


async def clean(pve: Pve, tofu: Tofu) -> None:
    await tofu.destroy()
    hypervisor = pve.world.proxmox.hypervisors["pve"]
    assert hypervisor.vms.keys() == hypervisor.storages.volumes.keys() == []


@pytest.mark.sampled("provider in the lab")
async def test_least_privileges(tmp_path: Path, programs: Programs) -> None:
    """These are enough for a whole life, and each one is needed."""
    async with running(tmp_path / "lab") as pve:
        token = await grant(pve, NEEDED)
        tofu = await prepare(pve.world, "iso", tmp_path / "tf", programs)
        tofu = replace(tofu, environment={**tofu.environment, "PROXMOX_VE_API_TOKEN": token})
        for step in (1, 2):
            await tofu.apply(step=step)
            assert await tofu.changes(step=step) == {}
        await clean(pve, tofu)


@pytest.mark.parametrize(
    ("path", "privilege"),
    [(path, name) for path, names in NEEDED.items() for name in names.split()],
)
@pytest.mark.chaos
async def test_each_privilege_is_needed(
    tmp_path: Path, programs: Programs, path: str, privilege: str
) -> None:
    """Without it some part of the life fails, and the refusal names it."""
    async with running(tmp_path / "lab") as pve:
        names = [name for name in NEEDED[path].split() if name != privilege]
        token = await grant(pve, {**NEEDED, path: " ".join(names)})
        tofu = await prepare(pve.world, "iso", tmp_path / "tf", programs)
        tofu = replace(tofu, environment={**tofu.environment, "PROXMOX_VE_API_TOKEN": token})
        for step, words in ((1, "apply"), (2, "apply"), (2, "destroy")):
            code, output = await tofu.run(words, "-auto-approve", "-no-color", step=step)
            if code:
                break
        assert code, "nothing missed it"
        assert privilege in output or "403" in output


@pytest.mark.sampled("provider in the lab")
async def test_password_login(tmp_path: Path, programs: Programs) -> None:
    """A ticket and its CSRF token do what an API token does."""
    async with running(tmp_path / "lab") as pve:
        tofu = await prepare(pve.world, "iso", tmp_path / "tf", programs)
        environment = {k: v for k, v in tofu.environment.items() if k != "PROXMOX_VE_API_TOKEN"}
        environment["PROXMOX_VE_USERNAME"] = "root@pam"
        environment["PROXMOX_VE_PASSWORD"] = pve.world.identity.credentials.password
        tofu = replace(tofu, environment=environment)
        await tofu.apply()
        assert await tofu.changes() == {}
        await clean(pve, tofu)


FAULTS: dict[str, dict[str, Any]] = {
    "latency": {"kind": "latency", "seconds": 0.05},
    "one 500 on create": {"kind": "error", "method": "POST", "path": "/qemu$", "times": 1},
    "one 500 after create": {
        "kind": "error",
        "method": "POST",
        "path": "/qemu$",
        "when": "after",
        "times": 1,
    },
    "one dropped read": {"kind": "drop", "method": "GET", "path": "/config$", "times": 1},
    "create fails": {"kind": "task", "task": "qmcreate", "step": "config", "times": 1},
    "start fails": {"kind": "task", "task": "qmstart", "step": "power-on", "times": 1},
    "download fails": {"kind": "task", "task": "download", "step": "verify", "times": 1},
    "storage full": {"kind": "storage-full", "storage": "local-lvm"},
    "token revoked": {"kind": "token-revoked", "skip": 8},
    "VM locked": {"kind": "vm-locked", "vmid": 101},
}


@pytest.mark.sampled("provider in the lab")
@pytest.mark.parametrize("name", FAULTS)
async def test_faults_leave_something_to_converge(
    tmp_path: Path, programs: Programs, name: str
) -> None:
    """Whatever went wrong: with the fault gone the next apply converges, and destroy cleans up."""
    async with running(tmp_path / "lab") as pve:
        tofu = await prepare(pve.world, "iso", tmp_path / "tf", programs)
        pve.world.faults.add(parse(FAULTS[name]))
        code, output = await tofu.run("apply", "-auto-approve", "-no-color")
        assert code == 0 or "Error:" in output
        pve.world.faults.remove(None)
        await tofu.apply()
        assert await tofu.changes() == {}
        assert pve.world.proxmox.hypervisors["pve"].vms.keys() == ["101"]
        await clean(pve, tofu)
