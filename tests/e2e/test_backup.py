"""Control planes that are lost permanently, and the cluster that a backup brings back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.crashes import Event, run_until
from tests.e2e.living import does, host_of, kube_nodes
from tests.lab.talos.harness import until

from talops.kube.client import KubeClient
from talops.kube.kubeconfig import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Lab

pytestmark = [pytest.mark.slow, pytest.mark.chaos, pytest.mark.timeout(3000)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
OBJECTS = int(os.environ.get("OBJECTS", "300"))
MARK = b"only-this-etcd-has-it"
AT_ONCE = 32
RECOVER = ("recover", "--from-backup", "latest")


def _kube(lab: Lab) -> KubeClient:
    config = load(lab.root / "kubeconfig", "e2e")
    assert config
    return KubeClient(config)


async def remember(lab: Lab) -> None:
    """So many objects that only this etcd has, and a backup of them."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(kube: KubeClient, number: int) -> None:
        metadata = {"name": f"kept-{number}", "namespace": "default"}
        data = {"kept": f"{MARK.decode()}-{number}"}
        async with gate:
            await kube.apply(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            )

    async with _kube(lab) as kube:
        await asyncio.gather(*(one(kube, number) for number in range(OBJECTS)))
    await does(lab, "backup", "create")
    await does(lab, "backup", "verify")


async def lose(lab: Lab, *names: str) -> None:
    """Their VMs and disks do not exist any more."""
    for name in names:
        found = lab.vms()[name]
        place = f"nodes/{found.node}/qemu/{found.vmid}"
        await lab.proxmox("POST", f"{place}/status/stop")
        await until(partial(_is_off, lab, place), 60.0)
        await lab.proxmox("DELETE", place)


async def _is_off(lab: Lab, place: str) -> bool:
    found = await lab.proxmox("GET", f"{place}/status/current")
    return bool(found["status"] == "stopped")


async def whole_again(lab: Lab, planes: set[str], workers: set[str]) -> None:
    """One etcd of exactly these members, and every object as it was."""
    identities = set()
    for node in host_of(lab).fabric.nodes():
        etcd = node.control_plane.etcd
        if node.hostname in planes:
            assert etcd is not None
            assert {m.name for m in await etcd.client.members()} == planes
            identities.add((await etcd.client.status())["header"]["cluster_id"])
    assert len(identities) == 1
    assert await kube_nodes(lab) == planes | workers
    async with _kube(lab) as kube:
        listed = await kube.list_all("v1", "ConfigMap", namespace="default")
    kept = {o["metadata"]["name"]: o["data"]["kept"] for o in listed if "kept" in o.get("data", {})}
    assert kept == {f"kept-{n}": f"{MARK.decode()}-{n}" for n in range(OBJECTS)}


def plain(lab: Lab) -> list[str]:
    """Files of talops with a plain object; those of nodes are not its own."""
    return [
        str(path)
        for folder in (lab.root, lab.temporary)
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and MARK in path.read_bytes()
    ]


def milestones() -> Iterator[Callable[[Event], bool]]:
    """The moments of a recovery at which it is killed, in their order."""
    moments = [
        ("stage_started", "preflight", None),
        ("change_started", "provision", None),
        ("change_finished", "provision", None),
        ("change_started", "apply-config", None),
        ("change_finished", "apply-config", None),
        ("change_started", "bootstrap", "wipe"),
        ("change_finished", "bootstrap", "wipe"),
        ("change_started", "bootstrap", "restore"),
        ("waiting", "bootstrap", None),
        ("change_finished", "bootstrap", "restore"),
        ("stage_started", "workers", None),
        ("stage_started", "kubeconfig", None),
        ("stage_started", "verify", None),
    ]
    for kind, stage, action in moments:
        yield lambda event, k=kind, s=stage, a=action: (  # type: ignore[misc]  # bound now
            event["kind"] == k
            and event.get("stage") == s
            and (a is None or event.get("action") == a)
        )


LOST = {
    "all three": (3, ("e2e-cp-1", "e2e-cp-2", "e2e-cp-3")),
    "two of three": (3, ("e2e-cp-2", "e2e-cp-3")),
    "the first two": (3, ("e2e-cp-1", "e2e-cp-2")),
    "the only one": (1, ("e2e-cp-1",)),
}


@pytest.mark.parametrize("killed", [False, True], ids=["", "killed"])
@pytest.mark.parametrize("case", LOST)
async def test_recover_from_backup(make_lab: MakeLab, case: str, killed: bool) -> None:
    """Objects, members and nodes as before, also after a kill -9 at each of its milestones."""
    number, lost = LOST[case]
    planes = {f"e2e-cp-{n}" for n in range(1, number + 1)}
    async with make_lab(control_planes=number, workers=1, sealed=True) as lab:
        await does(lab, "up", "--yes")
        await remember(lab)
        await lose(lab, *lost)
        reached = 0
        for stop in milestones() if killed else ():
            seen = await run_until(lab, stop, *RECOVER)
            reached += bool(seen) and stop(seen[-1])
        done = await does(lab, *RECOVER, "--yes", "-o", "json")
        changes = [
            e for e in map(json.loads, done.out.splitlines()) if e["kind"] == "change_started"
        ]
        if not killed:
            wiped = {c["node"] for c in changes if c["action"] == "wipe"}
            assert wiped == (planes - set(lost))
        assert reached >= (6 if killed else 0)
        await whole_again(lab, planes, {"e2e-w-1"})
        assert plain(lab) == []
        again = await does(lab, "up", "--yes", "-o", "json")
        later = [json.loads(line)["kind"] for line in again.out.splitlines()]
        assert "change_started" not in later


async def test_a_majority_is_never_wiped(make_lab: MakeLab) -> None:
    """One of three is lost: the backup is refused, and `recover` without it replaces the node."""
    async with make_lab(control_planes=3, workers=0, sealed=True) as lab:
        await does(lab, "up", "--yes")
        await remember(lab)
        await lose(lab, "e2e-cp-3")
        refused = await lab.talops(*RECOVER, "--yes")
        assert refused.code == 1, refused.everything
        assert "talops recover without --from-backup" in refused.everything
        await does(lab, "recover", "--yes")
        await whole_again(lab, {"e2e-cp-1", "e2e-cp-2", "e2e-cp-3"}, set())
