"""`kill -9` of talops while a config is tried, or while a node is drained: the next run goes on."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.harness import until
from tests.lab.talos.site import kill
from tests.reconfigure.conftest import PROVEN

from talops.rolls.marks import mark_of

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Awaitable, Callable

    from tests.reconfigure.conftest import Changing

    Start = Callable[..., contextlib.AbstractAsyncContextManager[Changing]]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
HOST = "{apiVersion: v1alpha1, kind: StaticHostConfig, name: 10.9.9.9, hostnames: [a.example]}"
LABEL = "{machine: {nodeLabels: {zone: b}}}"
ENV = "{machine: {env: {GRPC_TRACE: all}}}"


async def killed_when(cluster: Changing, condition: Callable[[], Awaitable[bool]]) -> None:
    process = await cluster.lab.talops()
    assert process.stdout
    assert process.stderr
    rest = asyncio.gather(process.stdout.read(), process.stderr.read())

    async def reached() -> bool:
        return process.returncode is not None or await condition()

    try:
        await until(reached)
    finally:
        kill(process)
        await process.wait()
        said = b"".join(await rest).decode()[-4000:]
    assert process.returncode == -signal.SIGKILL, said


@pytest.mark.sampled("changed configs")
async def test_the_next_run_goes_on(changing: Start) -> None:
    """A pending trial is confirmed, or its end awaited; a drained node is returned or rebooted."""
    async with changing("cp-1", "w-1", "w-2") as cluster:
        await _killed_in_a_trial(cluster)
        await _killed_in_a_trial_and_corrected(cluster)
        await _killed_before_the_reboot(cluster)
        await _killed_after_the_reboot(cluster)


def on_trial(cluster: Changing, name: str) -> Callable[[], Awaitable[bool]]:
    async def tries() -> bool:
        return cluster.lab.lab.node(name).rollback is not None

    return tries


async def _killed_in_a_trial(cluster: Changing) -> None:
    """The config is the wanted one and works: the next run proves that and stores it."""
    cluster.patch(HOST)
    await killed_when(cluster, on_trial(cluster, "cp-1"))
    node = cluster.lab.lab.node("cp-1")
    assert node.config is not None
    assert b"a.example" not in (node.store.config() or b"")
    told = len(cluster.told())
    assert await cluster.apply(PROVEN) is None
    assert [mode for name, mode in cluster.told()[told:] if name == "cp-1"] == ["no_reboot"]
    assert b"a.example" in (node.store.config() or b"")
    assert await cluster.apply() is None
    assert cluster.planned() == []


async def _killed_in_a_trial_and_corrected(cluster: Changing) -> None:
    """The patch is taken back meanwhile: nothing is sent before the node has its old config."""
    cluster.patch(HOST, workers=HOST.replace("9.9.9", "8.8.8"))
    await killed_when(cluster, on_trial(cluster, "w-1"))
    cluster.patch(HOST)
    run = asyncio.create_task(cluster.apply(PROVEN))
    try:
        await until(lambda: _waits(cluster, "the trial of a config to end on w-1"))
        assert cluster.lab.lab.node("w-1").rollback is not None
        # A restart ends the trial sooner than the two minutes of its timer.
        await cluster.reboot("w-1")
        assert await run is None
    finally:
        run.cancel()
    assert cluster.planned() == []
    assert b"8.8.8" not in (cluster.stored()["w-1"] or b"")


async def _waits(cluster: Changing, name: str) -> bool:
    return name in cluster.waits()


async def _killed_before_the_reboot(cluster: Changing) -> None:
    """Drained and cordoned by talops: rebooted by the next run, before any other node."""
    cluster.patch(HOST, workers=ENV)
    boots = cluster.boots()

    async def drained() -> bool:
        marks = {name: mark_of(node) for name, node in (await cluster.kube_nodes()).items()}
        return any(mark and mark.drained for mark in marks.values())

    await killed_when(cluster, drained)
    assert await cluster.apply() is None
    after = cluster.boots()
    assert {name for name in boots if boots[name] != after[name]} == {"w-1", "w-2"}
    await _all_in_use(cluster)


async def _killed_after_the_reboot(cluster: Changing) -> None:
    """It runs its config, so nothing differs; but its mark says that it is still to be returned."""
    cluster.patch(HOST, LABEL)
    boots = cluster.boots()

    async def rebooted() -> bool:
        now = cluster.boots()
        return any(boots[name] != now[name] for name in boots)

    await killed_when(cluster, rebooted)
    (first,) = {name for name, boot in cluster.boots().items() if boot != boots[name]}
    marked = mark_of((await cluster.kube_nodes())[first])
    assert await cluster.apply() is None
    if marked:  # the process may have returned it in the moment before it ended
        assert any(target.split()[1] == first for target in cluster.planned())
    after = cluster.boots()
    assert {name for name in boots if boots[name] != after[name]} == {"w-1", "w-2"}
    await _all_in_use(cluster)


async def _all_in_use(cluster: Changing) -> None:
    nodes = await cluster.kube_nodes()
    assert not any(mark_of(node) or node["spec"].get("unschedulable") for node in nodes.values())
    assert await cluster.apply() is None
    assert cluster.planned() == []
