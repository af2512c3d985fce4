"""A new talos_version on Proxmox: images first, then the nodes, then the old images."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Lab

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
OLD, NEW, UNKNOWN = "v1.13.9", "v1.14.1", "v1.14.99"
HOP = f"Talos {OLD} → {NEW}"


def version(lab: Lab, wanted: str) -> None:
    file = lab.root / "cluster.yaml"
    lines = file.read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if not line.startswith("talos_version:")]
    file.write_text("\n".join([*lines, f"talos_version: {wanted}"]) + "\n", encoding="utf-8")


async def does(lab: Lab, *words: str) -> str:
    done = await lab.talops(*words)
    assert done.code == 0, f"{words}\n{done.everything}"
    return done.everything


async def images(lab: Lab) -> set[str]:
    """The Talos version of each image on the storage of the host."""
    (host,) = lab.world.proxmox.hypervisors
    listed = await lab.proxmox("GET", f"nodes/{host}/storage/local/content", content="iso")
    return {row["volid"].partition("-talos-")[2].partition("-")[0] for row in listed}


def tasks(lab: Lab) -> list[str]:
    """The kind of each task of the host, in order."""
    (host,) = lab.world.proxmox.hypervisors.values()
    return [upid.split(":")[5] for upid in host.tasks.table]


def running(lab: Lab) -> dict[str, tuple[str, str]]:
    """Node → Talos version and boot id."""
    found = {}
    for name in ("e2e-cp-1", "e2e-w-1"):
        node = next(n for n in _nodes(lab) if n.machine.name == name)
        found[name] = (node.version, node.boot_id)
    return found


def _nodes(lab: Lab) -> Any:
    assert lab.world.talos.host
    return lab.world.talos.host.fabric.nodes()


@pytest.mark.sampled("upgrades of Talos")
async def test_a_new_version(make_lab: MakeLab) -> None:
    """One that does not exist changes nothing; one that does is rolled; the VMs are not touched."""
    async with make_lab(control_planes=1, workers=1, sealed=True) as lab:
        version(lab, OLD)
        await does(lab, "up", "--yes")
        before = running(lab)
        assert {talos for talos, _ in before.values()} == {OLD}
        since = {name: vm.since for name, vm in lab.vms().items()}

        began = len(tasks(lab))
        version(lab, UNKNOWN)
        refused = await lab.talops("up", "--yes")
        assert refused.code == 1
        assert f"the Image Factory has no Talos {UNKNOWN}" in refused.everything
        assert f"set talos_version: {NEW}" in refused.everything
        assert await images(lab) == {OLD}
        assert running(lab) == before

        version(lab, NEW)
        differs = await lab.talops("drift", "-o", "json")
        assert differs.code == 2, differs.everything
        rows = [d for area in json.loads(differs.out)["layers"] for d in area["differences"]]
        told = {(d["target"], d["wanted"], d["actual"]) for d in rows if d["attribute"] == "Talos"}
        assert told == {(name, NEW, OLD) for name in before}

        await _looked_at(lab)
        lines = await _json(lab, "up", "--yes")
        events = [json.loads(line) for line in lines.splitlines()]
        assert {e["target"] for e in events if e["kind"] == "change_started"} >= {HOP}
        after = running(lab)
        assert {talos for talos, _ in after.values()} == {NEW}
        assert all(before[name][1] != after[name][1] for name in before)
        assert await images(lab) == {NEW}
        done = [kind for kind in tasks(lab)[began:] if kind in {"download", "qmconfig", "imgdel"}]
        assert sorted(done, key=["download", "qmconfig", "imgdel"].index) == done, "deleted last"
        assert done.count("imgdel") == done.count("download") > 0
        assert {name: vm.since for name, vm in lab.vms().items()} == since, "no VM was restarted"
        assert "nothing to change" in await does(lab, "up", "--yes")
        await does(lab, "drift")
        await does(lab, "verify")
        await _back_and_forth(lab)


async def _json(lab: Lab, *words: str) -> str:
    done = await lab.talops(*words, "-o", "json")
    assert done.code == 0, done.everything
    return done.out


async def _looked_at(lab: Lab) -> None:
    """What `versions` and the path of `upgrade` say; neither changes anything."""
    found = json.loads(await _json(lab, "versions"))
    talos, kubernetes = found["parts"]
    assert talos["running"] == [OLD, OLD]
    assert (talos["wanted"], talos["newest"]) == (NEW, NEW)
    assert kubernetes["running"] == ["v1.36.1", "v1.36.1"]
    assert kubernetes["newest"].startswith("v1.37.")
    assert found["path"] == [{"part": "Talos", "from": OLD, "to": NEW}]
    path = await lab.talops("upgrade", "--to", f"talos={NEW}", "--dry-run")
    assert path.code == 2
    assert HOP in path.everything
    wrong = await lab.talops("upgrade", "--to", "talos=v1.15.0")
    assert wrong.code == 1
    assert "Talos v1.15.0 is not supported" in wrong.everything


async def _back_and_forth(lab: Lab) -> None:
    """One node returns to its old system and is upgraded again by the command that edits."""
    await does(lab, "rollback", "e2e-w-1", "--yes")
    assert [talos for talos, _ in running(lab).values()] == [NEW, OLD]
    file = lab.root / "cluster.yaml"
    before = file.read_text(encoding="utf-8")
    file.write_text(before.replace(NEW, f'"{OLD}"  # for now'), encoding="utf-8")
    mixed = await lab.talops("up", "--yes")
    assert mixed.code == 1
    assert f"Talos {NEW} runs, which is newer than {OLD}" in mixed.everything
    assert HOP in await does(lab, "upgrade", "--to", f"talos={NEW}", "--yes")
    assert file.read_text(encoding="utf-8") == before.replace(NEW, f'"{NEW}"  # for now')
    assert [talos for talos, _ in running(lab).values()] == [NEW, NEW]
