"""Upgrades of Talos over real control planes: every fault, and how the next run continues."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.upgrades.conftest import PATIENT, Upgrading

from talops.events import Note, PartProgress
from talops.kube.objects import Ref
from talops.kube.waits import apply_all
from talops.lab.talos.machine.faults import Faults
from talops.pipeline.result import RunStatus
from talops.pipeline.runner import run_stages
from talops.pipeline.stage import Reporter
from talops.rolls.marks import is_cordoned, mark_of
from talops.rolls.turn import Step
from talops.stages.rolling.tuppr import Tuppr
from talops.upgrades.nvidia import leftovers

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable

    from tests.rolls.conftest import Rolling

    from talops.events import Emit
    from talops.pipeline.result import RunResult

    Start = Callable[..., contextlib.AbstractAsyncContextManager[Rolling]]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
OLD, NEW = "v1.13.9", "v1.14.1"


@pytest.mark.sampled("upgrades of Talos")
async def test_every_fault_stops_and_the_next_run_goes_on(rolling: Start) -> None:
    """One cluster through all of them: no second node is touched after the first has failed."""
    async with rolling("cp-1", "w-1", "w-2") as cluster:
        it = Upgrading(cluster)
        assert (await it.up()).status is RunStatus.UNCHANGED
        await _arguments_would_be_lost(it)
        it.want(NEW)
        await _an_image_is_missing(it)
        await _the_installer_fails(it)
        await _the_new_system_does_not_boot(it)
        await _a_node_does_not_return(it)
        await _the_rest(it)
        await _other_extensions(it)
        await _some_nodes_only(it)
        await _nvidia_is_left_over(it)
        await _tuppr_decides(it)
        await _tuppr_gets_the_version(it)


async def _cordoned(it: Upgrading) -> set[str]:
    return {name for name, node in (await it.cluster.kube_nodes()).items() if is_cordoned(node)}


def _told(result: RunResult) -> str:
    assert result.status is RunStatus.FAILED
    assert result.error
    assert result.error.hint
    return f"{result.error.what} {result.error.where} {result.error.hint}"


async def _arguments_would_be_lost(it: Upgrading) -> None:
    """Read off the config and the command line of the running kernel; nothing is pulled."""
    file = it.cluster.lab.root / "cluster.yaml"
    plain = file.read_text(encoding="utf-8")
    install = "{grubUseUKICmdline: false, extraKernelArgs: [nomodeset]}"
    file.write_text(f"{plain}patches: [{{machine: {{install: {install}}}}}]\n", encoding="utf-8")
    assert (await it.cluster.lab.run("apply-config")).error is None
    it.want(NEW)
    told = _told(await it.up())
    assert "it would boot without these kernel arguments: nomodeset" in told
    assert "w-2" in told
    assert "schematic" in told
    file.write_text(plain, encoding="utf-8")
    assert (await it.cluster.lab.run("apply-config")).error is None


async def _an_image_is_missing(it: Upgrading) -> None:
    """On the last node: the first is not even cordoned."""
    it.fault("w-2", Faults(image_missing="1.14"))
    before = it.cluster.boots()
    told = _told(await it.up())
    assert "cannot be pulled on w-2" in told
    assert "no node was changed" in told
    assert it.cluster.boots() == before
    assert await _cordoned(it) == set()
    it.fault("w-2")


async def _the_installer_fails(it: Upgrading) -> None:
    """Before the drain: control planes are done, the failing worker still serves."""
    for name in ("w-1", "w-2"):
        it.fault(name, Faults(install_exit=7))
    told = _told(await it.up())
    assert re.search(r"the installer of .*1\.14\.1 failed: exit code 1", told)
    assert "preparing w-" in told
    assert it.versions() == {"cp-1": NEW, "w-1": OLD, "w-2": OLD}
    assert await _cordoned(it) == set()
    tried = {e.part for e in it.cluster.events if isinstance(e, PartProgress)}
    assert len(tried - {"cp-1"}) == 1
    for name in ("w-1", "w-2"):
        it.fault(name)


async def _the_new_system_does_not_boot(it: Upgrading) -> None:
    """The boot loader returns to the old one; the node stays cordoned, the other is not touched."""
    for name in ("w-1", "w-2"):
        it.fault(name, Faults(boot_fails=True))
    before = it.cluster.boots()
    told = _told(await it.up())
    assert "runs Talos v1.13.9 again: the new system did not start" in told
    assert "talops rollback" in told
    (failed,) = [name for name, boot in it.cluster.boots().items() if boot != before[name]]
    assert await _cordoned(it) == {failed}
    mark = mark_of((await it.cluster.kube_nodes())[failed])
    assert mark
    assert mark.drained
    for name in ("w-1", "w-2"):
        it.fault(name)


async def _a_node_does_not_return(it: Upgrading) -> None:
    """The one that was begun goes first, and nothing else while it is away."""
    (first,) = await _cordoned(it)
    (other,) = {"w-1", "w-2"} - {first}
    boots = it.cluster.boots()
    it.fault(first, Faults(hangs=True))
    told = _told(await it.up(replace(PATIENT, install=3.0)))
    assert f"timed out after 3 s waiting for {first} to be ready again" in told
    assert "check the console" in told
    assert it.cluster.boots()[other] == boots[other]
    assert it.versions()[other] == OLD
    it.fault(first)


async def _the_rest(it: Upgrading) -> None:
    """Finished by the same command; the node that hung returns to service before the other goes."""
    (first,) = await _cordoned(it)
    done = await it.up()
    assert done.error is None, done.error
    assert set(it.versions().values()) == {NEW}
    steps = [(step, node) for step, node in it.cluster.steps() if node in {"w-1", "w-2"}]
    assert steps.index((Step.UNCORDON, first)) < [node != first for _, node in steps].index(True)
    nodes = (await it.cluster.kube_nodes()).values()
    assert not any(is_cordoned(node) or mark_of(node) for node in nodes)
    assert (await it.up()).status is RunStatus.UNCHANGED


async def _other_extensions(it: Upgrading) -> None:
    """The same version with another schematic is an upgrade of that node alone."""
    it.extensions("w-2", "siderolabs/btrfs")
    before = it.cluster.boots()
    done = await it.up()
    assert done.error is None, done.error
    after = it.cluster.boots()
    assert [name for name in after if after[name] != before[name]] == ["w-2"]
    assert (await it.up()).status is RunStatus.UNCHANGED


async def _some_nodes_only(it: Upgrading) -> None:
    """A run that is limited to other nodes leaves this one behind."""
    it.extensions("w-1", "siderolabs/btrfs")
    elsewhere = await it.up(nodes=re.compile("w-2|cp-1"))
    assert elsewhere.status is RunStatus.UNCHANGED, elsewhere.error


async def _nvidia_is_left_over(it: Upgrading) -> None:
    """What the older way of GPUs needed is found, with the command that deletes it."""
    access = it.cluster.roller().kube
    assert await leftovers(access, ["gpu-1"]) == []
    async with it.cluster.kube() as kube:
        meta = {"name": "nvidia"}
        version, kind = "node.k8s.io/v1", "RuntimeClass"
        runtime = {"apiVersion": version, "kind": kind, "metadata": meta, "handler": "nvidia"}
        await kube.apply(runtime)
    (found,) = await leftovers(access, ["gpu-1"])
    assert found.refuses
    assert "kubectl delete runtimeclass nvidia" in found.hint


async def _tuppr_decides(it: Upgrading) -> None:
    """Whatever its objects upgrade is left to it, also a version that is older than what runs."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    group, plural, kind = "tuppr.home-operations.com", "talosupgrades", "TalosUpgrade"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": plural, "singular": "talosupgrade", "kind": kind},
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }
    upgrade = {
        "apiVersion": f"{group}/v1alpha1",
        "kind": kind,
        "metadata": {"name": "cluster"},
        "spec": {"talos": {"version": NEW}},
    }
    async with it.cluster.kube() as kube:
        await apply_all(kube, [definition, upgrade], timeout=60)
    it.want(OLD)
    left = await it.up()
    assert left.status is RunStatus.UNCHANGED, left.error
    notes = [event.message for event in it.cluster.events if isinstance(event, Note)]
    assert [note for note in notes if "tuppr upgrades Talos in this cluster" in note]


async def _tuppr_gets_the_version(it: Upgrading) -> None:
    """`upgrades: tuppr`: an object of another is left alone, ours follows the inventory."""
    site = it.cluster.site
    site = replace(site, cluster=replace(site.cluster, upgrades="tuppr"))
    notes: list[str] = []

    async def run(version: str) -> RunStatus:
        wanted = replace(site, cluster=replace(site.cluster, talos_version=version))
        stage = Tuppr(wanted, Reporter("upgrade", _noting(notes)))
        done = await run_stages([stage], emit=lambda _: None)
        assert done.error is None, done.error
        return done.status

    async def versions() -> dict[str, str]:
        async with it.cluster.kube() as kube:
            listed = await kube.list_all("tuppr.home-operations.com/v1alpha1", "TalosUpgrade")
        return {obj["metadata"]["name"]: obj["spec"]["talos"]["version"] for obj in listed}

    assert await run(OLD) is RunStatus.UNCHANGED
    assert any("TalosUpgrade cluster is not from talops" in note for note in notes)
    assert any("KubernetesUpgrade is not installed" in note for note in notes)
    async with it.cluster.kube() as kube:
        await kube.delete(Ref("tuppr.home-operations.com/v1alpha1", "TalosUpgrade", "cluster"))
    assert await run(OLD) is RunStatus.DONE
    assert await versions() == {"talos": OLD}
    assert await run(NEW) is RunStatus.DONE
    assert await run(NEW) is RunStatus.UNCHANGED
    assert await versions() == {"talos": NEW}


def _noting(notes: list[str]) -> Emit:
    return lambda event: notes.append(event.message) if isinstance(event, Note) else None
