"""Everything that goes wrong on a Proxmox host during an apply.

Either the run rides it out, or it fails in words and the next one converges: one VM, its own disks,
a state that knows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.tofu.site import Site, small_site

from talops.errors import TalopsError
from talops.lab.faults import parse
from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real_provider import Programs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
NAME = "demo-cp-1"
CREATE = {"method": "POST", "path": "/qemu$"}
START = {"method": "POST", "path": "/status/start$"}
RIDDEN_OUT, FAILS = True, False

Row = tuple[dict[str, Any], bool]
MAKING: dict[str, Row] = {
    "latency": ({"kind": "latency", "seconds": 0.05}, RIDDEN_OUT),
    "5xx before the creation": ({"kind": "error", **CREATE, "times": 1}, RIDDEN_OUT),
    "5xx after the creation": (
        {"kind": "error", "status": 502, **CREATE, "when": "after", "times": 1},
        RIDDEN_OUT,
    ),
    "5xx at the start": ({"kind": "error", "status": 503, **START, "times": 1}, RIDDEN_OUT),
    "5xx all the time": ({"kind": "error", "status": 500, **CREATE}, FAILS),
    "dropped before the creation": ({"kind": "drop", **CREATE, "times": 1}, RIDDEN_OUT),
    "dropped after the creation": (
        {"kind": "drop", **CREATE, "when": "after", "times": 1},
        RIDDEN_OUT,
    ),
    "dropped at the start": ({"kind": "drop", **START, "when": "after", "times": 1}, RIDDEN_OUT),
    "dropped while reading": ({"kind": "drop", "path": "/config$", "times": 1}, RIDDEN_OUT),
    "dropped all the time": ({"kind": "drop", "skip": 12}, FAILS),
    "creation fails at once": ({"kind": "task", "task": "qmcreate", "step": "start"}, FAILS),
    "creation fails with disks": ({"kind": "task", "task": "qmcreate", "step": "config"}, FAILS),
    "creation meets a lock": (
        {
            "kind": "task",
            "task": "qmcreate",
            "message": "can't lock file - got timeout",
            "times": 1,
        },
        RIDDEN_OUT,
    ),
    "start fails": ({"kind": "task", "task": "qmstart", "step": "power-on"}, FAILS),
    "start times out once": (
        {"kind": "task", "task": "qmstart", "message": "got timeout", "times": 1},
        RIDDEN_OUT,
    ),
    "download fails": ({"kind": "task", "task": "download", "step": "verify"}, FAILS),
    "locked once": ({"kind": "vm-locked", "vmid": 111, "times": 1}, RIDDEN_OUT),
    "locked for good": ({"kind": "vm-locked", "vmid": 111}, FAILS),
    "storage of the disks full": ({"kind": "storage-full", "storage": "local-lvm"}, FAILS),
    "storage of the images full": ({"kind": "storage-full", "storage": "local"}, FAILS),
    "token revoked": ({"kind": "token-revoked", "skip": 12}, FAILS),
    "token revoked at the start": ({"kind": "token-revoked", "skip": 20}, FAILS),
    "clock ahead": ({"kind": "clock-skew", "seconds": 7200}, RIDDEN_OUT),
    "node offline": ({"kind": "node-offline", "node": "pve", "skip": 12}, FAILS),
    "clock behind": ({"kind": "clock-skew", "seconds": -7200}, RIDDEN_OUT),
    # The file is complete, but the provider marks it as tainted.
    "download cannot be read back": (
        {"kind": "error", "status": 403, "method": "GET", "path": "/storage/local/content$"},
        FAILS,
    ),
}
# Each of the three rows that make the provider wait for a minute is in a group of its own.
GROUPS = 5


@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.sampled("faults of Proxmox")
async def test_faults_while_vms_are_made(
    group: int, programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each fault in turn, from an empty host to an empty host."""
    spec = LabSpec(patience=0.01)
    async with small_site(tmp_path, programs, monkeypatch, spec) as site:
        empty = site.home.things()
        for name in list(MAKING)[group::GROUPS]:
            await meets(site, name, *MAKING[name])
            assert_whole(site, name)
            await site.destroy()
            assert site.home.things() == empty, name


async def meets(site: Site, name: str, fault: dict[str, Any], ridden_out: bool) -> None:
    """Run with the fault, then without it."""
    faults = site.home.world.faults
    faults.add(parse(fault))
    error = await failure_of(site)
    (told,) = faults.listing()
    faults.remove(None)
    assert told["seen"] > told["skip"], f"{name}: it never happened"
    assert (error is None) is ridden_out, f"{name}: {error}"
    assert error is None or all((error.what, error.where, error.hint)), f"{name}: {error}"
    await site.apply()


async def failure_of(site: Site) -> TalopsError | None:
    try:
        await site.apply()
    except TalopsError as error:
        return error
    return None


def assert_whole(site: Site, name: str) -> None:
    """One VM that runs, only its own disks, and nothing that is still being made."""
    assert [(vm, found.is_running) for vm, found in site.home.vms.items()] == [(NAME, True)], name
    volumes = site.home.pve.storages.volumes.values()
    assert {v.vmid for v in volumes if v.storage == "local-lvm"} == {111}, name
    kept = site.home.run.root / ".talops" / "infra"
    assert list(kept.glob("*.creating.json")) == [], name


CHANGING: dict[str, Row] = {
    "locked once": ({"kind": "vm-locked", "vmid": 111, "times": 1}, RIDDEN_OUT),
    "locked for good": ({"kind": "vm-locked", "vmid": 111}, FAILS),
    "stop fails": ({"kind": "task", "task": "qmstop"}, FAILS),
    "start fails after the change": ({"kind": "task", "task": "qmstart"}, FAILS),
    "5xx at the change": (
        {"kind": "error", "status": 503, "method": "PUT", "path": "/config$", "times": 1},
        RIDDEN_OUT,
    ),
    "dropped after the change": (
        {"kind": "drop", "method": "PUT", "path": "/config$", "when": "after", "times": 1},
        RIDDEN_OUT,
    ),
}


@pytest.mark.sampled("faults of Proxmox")
async def test_faults_while_a_vm_is_changed(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The VM stays the same one, runs again, and has what was asked for in the end."""
    spec = LabSpec(patience=0.01)
    async with small_site(tmp_path, programs, monkeypatch, spec) as site:
        await site.apply()
        born = site.home.vms[NAME].config["vmgenid"]
        variables = next(site.home.run.root.rglob("02-platforms/demo/terraform.tfvars"))
        for cores, name in enumerate(CHANGING, start=3):
            text = variables.read_text(encoding="utf-8")
            variables.write_text(more_cores(text, cores), encoding="utf-8")
            await meets(site, name, *CHANGING[name])
            assert_whole(site, name)
            vm = site.home.vms[NAME]
            assert (vm.config["cores"], vm.config["vmgenid"]) == (cores, born), name


def more_cores(text: str, cores: int) -> str:
    lines = text.splitlines(keepends=True)
    found = [n for n, line in enumerate(lines) if line.split("=")[0].strip() == "cores"]
    assert found
    for number in found:
        lines[number] = f"    cores = {cores}\n"
    return "".join(lines)
