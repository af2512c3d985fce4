"""A backup of a real API server runs again from memory, and every object is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.backups.living import living
from tests.backups.site import Lab, three_planes
from tests.backups.test_contents import objects

from talops.app.backups import drilling, keeping
from talops.backups import memory, served
from talops.backups.ages import read_ages
from talops.backups.opening import open_store
from talops.backups.signing import Signer
from talops.cli.backup.drill import _plane
from talops.errors import PreflightError, TalopsError
from talops.lab.kubernetes.restored import Programs, RestoredControlPlane
from talops.secrets.vault import mode_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from talops.machineconfig.secrets.bundle import Bundle

SERVICES = "10.43.0.0/16"


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    async with three_planes(tmp_path / "site") as made:
        yield made


async def backed_up(lab: Lab, folder: Path, tool: Callable[[str], Path], number: int) -> Any:
    """A backup of a cluster with so many objects, and of those that an API server makes."""
    bundle = await lab.site().secrets.require()
    async with living(folder / "living", tool, bundle) as cluster:
        await cluster.fill(number)
        data = await cluster.snapshot()
    for name in lab.nodes:
        lab.answers(name, data)
    return await keeping.create(lab.site(), print)


async def drilled(lab: Lab, tool: Callable[[str], Path]) -> Any:
    programs = Programs(tool("etcd"), tool("etcdutl"), tool("kube-apiserver"))

    def plane(place: Path, bundle: Bundle) -> RestoredControlPlane:
        assert memory._is_in_memory(place)
        return _plane(place, bundle, programs, SERVICES)

    return await drilling.drill(lab.site(), "latest", plane, print)


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [40, pytest.param(10_000, marks=[pytest.mark.chaos, pytest.mark.timeout(900)])]
)
async def test_drill(lab: Lab, tmp_path: Path, tool: Callable[[str], Path], number: int) -> None:
    """By count and hash in etcd, by name through the API; Secrets are decrypted, widgets served."""
    made = await backed_up(lab, tmp_path, tool, number)
    before = in_memory()
    done = await drilled(lab, tool)
    assert done.differences == ()
    assert done.passed
    assert (done.unserved, done.objects) == ((), made.snapshot.keys)
    assert made.kinds["secrets"].count >= number // 2
    assert made.kinds["widgets.example.org"].count == 1
    internal = sum(kind.count for name, kind in made.kinds.items() if name in served._INTERNAL)
    assert done.served == made.snapshot.keys - internal
    assert in_memory() <= before, "nothing plain remains, not even in memory"
    signer = Signer((await lab.site().secrets.require()).cluster_secret)
    ages = await read_ages(open_store(lab.site()), signer)
    assert ages.drill == done.at
    record = lab.store / f"{done.id}.drill.json"
    record.write_text(record.read_text().replace('"objects"', '"object"'))
    assert (await read_ages(open_store(lab.site()), signer)).drill is None, "signed"


def in_memory() -> set[str]:
    return {path.name for path in Path("/dev/shm").glob("talops-drill-*")}


class OnePlane:
    """A control plane that restores everything but what a test names."""

    def __init__(self, pairs: dict[bytes, bytes]) -> None:
        self.kept = pairs

    async def restore(self, snapshot: Path, *, skip_hash_check: bool) -> None:
        assert mode_of(snapshot) == 0o600

    async def pairs(self) -> AsyncIterator[tuple[bytes, bytes]]:
        for pair in self.kept.items():
            yield pair

    async def serve(self) -> None:
        pass

    async def get(self, path: str, **query: str) -> dict[str, Any]:
        pods = [{"metadata": {"name": f"n{n:02d}", "namespace": "default"}} for n in range(11)]
        answers: dict[str, dict[str, Any]] = {
            "/version": {"gitVersion": "v1.37.0"},
            "/apis": {"groups": []},
            "/api/v1": {"resources": [{"name": "pods", "verbs": ["list"]}]},
            "/api/v1/pods": {"items": pods, "metadata": {}},
        }
        return answers[path]

    async def close(self) -> None:
        pass


async def test_what_a_drill_finds(
    lab: Lab, snapshot: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object that is lost or changed, and one that the API does not return, fail the drill."""
    for name in lab.nodes:
        lab.answers(name, snapshot)
    await keeping.create(lab.site(), print)
    pairs = objects(snapshot)
    del pairs[b"/registry/secrets/default/n01"]
    pairs[b"/registry/configmaps/default/n00"] += b"!"
    monkeypatch.setattr(served, "_PATIENCE", 0.0)
    done = await drilling.drill(lab.site(), "latest", lambda *_: OnePlane(pairs), print)
    assert done.differences == (
        "configmaps: other content",
        "secrets: 7 instead of 8",
        "pods: not served: default/n11",
    )
    assert not done.passed
    signer = Signer((await lab.site().secrets.require()).cluster_secret)
    ages = await read_ages(open_store(lab.site()), signer)
    assert ages.drill is None, "a failed drill proves nothing"


def test_no_memory_no_drill(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk is never used instead."""
    monkeypatch.setattr(memory, "_IN_MEMORY", set())
    with (
        pytest.raises(PreflightError, match="must not touch a disk"),
        memory.directory_in_memory(1),
    ):
        pass


async def test_without_a_backup(lab: Lab) -> None:
    """The next command is named."""
    with pytest.raises(TalopsError, match="no backup can be used"):
        await drilling.drill(lab.site(), "latest", lambda *_: OnePlane({}), print)
