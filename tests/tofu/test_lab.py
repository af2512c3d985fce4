"""The rendered layers in the lab: made, changed, broken, repaired, taken down."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import random
    import subprocess
    from collections.abc import Callable

    from tests.tofu.conftest import LabSite

PATIENCE = 600
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
# Who is killed, and how often: a sample in every run, the matrix with `make chaos`.
VICTIMS = ("talops", "tofu", "provider")


@pytest.mark.sampled("layers in the lab")
def test_life(make_site: Callable[..., LabSite]) -> None:
    """plan, apply with a fault that passes, empty plan, no-op apply, destroy: nothing is left."""
    site = make_site(1, 1)
    site.fault("task", "task=qmstart", "message=got timeout", "times=1")
    assert site.talops.run("infra", "plan")[0] == 2
    events = site.talops.events("infra", "apply")
    assert any(event["kind"] == "retrying" for event in events)
    assert sorted(site.vms()) == ["demo-cp-1", "demo-w-1"]
    assert {vm["status"] for vm in site.vms().values()} == {"running"}
    assert site.talops.run("infra", "plan")[0] == 0
    site.talops.ok("infra", "apply-auto")
    code, _, err = site.talops.run("infra", "destroy")
    assert code == 1
    assert "to allow this: --allow-destroy demo-cp-1" in err
    site.talops.ok("infra", "destroy", "--everything")
    assert site.vms() == {}


@pytest.mark.sampled("layers in the lab")
def test_changes_of_running_vms(make_site: Callable[..., LabSite]) -> None:
    """Restarts go one control plane at a time; a foreign disk stops a disk change; drift is
    repaired.
    """
    site = make_site(3, 1)
    site.talops.ok("infra", "apply-auto")
    site.edit("cores: 2", "cores: 4")
    events = site.talops.events("infra", "apply-auto")
    steps = [e["names"] for e in events if e["kind"] == "batch_started"]
    assert steps == [["demo-cp-1"], ["demo-cp-2"], ["demo-cp-3"], ["demo-w-1"]]
    assert all(vm["maxcpu"] == 4 for vm in site.vms().values())
    _foreign_disk_is_kept(site)
    _drift_is_repaired(site)


def _foreign_disk_is_kept(site: LabSite) -> None:
    worker = site.vms()["demo-w-1"]
    config = f"nodes/{worker['node']}/qemu/{worker['vmid']}/config"
    site.proxmox("PUT", config, scsi5="local-lvm:3")
    site.edit("disk_size: 32", "disk_size: 40")
    code, _, err = site.talops.run("infra", "apply-auto")
    assert code == 1
    assert "would detach scsi5, which talops did not create" in err
    assert "scsi5" in site.proxmox("GET", config)
    site.proxmox("PUT", config, delete="scsi5")
    site.talops.ok("infra", "apply-auto")
    assert "size=40G" in site.proxmox("GET", config)["scsi0"]


def _drift_is_repaired(site: LabSite) -> None:
    node = site.vms()["demo-cp-1"]
    base = f"nodes/{node['node']}/qemu/{node['vmid']}"
    site.proxmox("PUT", f"{base}/config", tags="by-hand", onboot="0")
    assert site.talops.run("infra", "plan")[0] == 2
    site.talops.ok("infra", "apply")
    assert "controlplane" in site.proxmox("GET", f"{base}/config")["tags"]


@pytest.mark.sampled("layers in the lab")
def test_killed_sample(make_site: Callable[..., LabSite], rng: random.Random) -> None:
    """Kill -9 of talops, of OpenTofu or of the provider: the next run converges."""
    site = make_site(1, 1, "--pace", "0.2", own_provider=True)
    kill_and_converge(site, rng.choice(VICTIMS), rng.uniform(0, 1.5))


@pytest.mark.chaos
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("victim", VICTIMS)
def test_killed_often(
    make_site: Callable[..., LabSite], rng: random.Random, victim: str, part: int
) -> None:
    """The same at thirty random moments each: ten in each part."""
    site = make_site(2, 1, "--pace", "0.2", own_provider=True)
    for number in range(10):
        delay = rng.uniform(0, 5)
        print(f"part {part}, moment {number}: {victim} after {delay:.2f} s")  # noqa: T201  (shown if it fails)
        kill_and_converge(site, victim, delay)


def kill_and_converge(site: LabSite, victim: str, delay: float) -> None:
    names = set(re.findall(r"name: (demo-\S+)", (site.talops.root / "nodes.yaml").read_text()))
    process = site.talops.start("infra", "apply-auto")
    assert process.stderr
    for line in process.stderr:
        if "creating module" in line:
            break
    time.sleep(delay)  # the moment is the point of the test
    for pid in pids(process, victim):
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    # Ends with a second plan, which has to be empty.
    site.talops.ok("infra", "apply-auto")
    found = site.proxmox("GET", "cluster/resources?type=vm")
    assert sorted((vm["name"], vm["status"]) for vm in found) == sorted(
        (name, "running") for name in names
    )
    assert site.owners() == {vm["vmid"] for vm in found}
    site.talops.ok("infra", "destroy", "--everything")
    assert site.vms() == {}
    assert site.owners() == set()


def pids(talops: subprocess.Popen[str], victim: str) -> list[int]:
    """The victim's processes, as far as they still live; all of them descend from talops."""
    if victim == "talops":
        return [talops.pid] if talops.poll() is None else []
    found = []
    for pid, command in descendants(talops.pid):
        program = Path(command.split("\0")[0]).name
        is_provider = "terraform-provider" in command
        if (victim == "tofu" and program == "tofu") or (victim == "provider" and is_provider):
            found.append(pid)
    return found


def descendants(root: int) -> list[tuple[int, str]]:
    parents: dict[int, list[int]] = {}
    commands: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            commands[int(folder.name)] = (folder / "cmdline").read_text(errors="replace")
        except OSError:  # it ended meanwhile
            continue
        parents.setdefault(int(stat.rsplit(")", 1)[1].split()[1]), []).append(int(folder.name))
    found, waiting = [], [root]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            waiting.append(child)
            found.append((child, commands.get(child, "")))
    return found
