"""A fault of a node ends in an error that helps, and in success once the fault has ended."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.site import QUICK, NodeSite

from talops.lab.talos.machine.faults import Faults
from talops.lab.talos.machine.settings import Timing
from talops.pipeline.result import RunStatus
from talops.site.site import Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle
    from talops.pipeline.result import RunResult

pytestmark = pytest.mark.slow
TIMING = Timing(scale=0.02, grace=2.0, lease=1.0)
SHORT = Limits(boot=3.0, install=3.0, etcd=3.0, kubernetes=3.0, interval=0.1)


@dataclass(frozen=True)
class Trouble:
    """A fault, the stage it stops, and what the error must say beside the node's name."""

    faults: Faults
    stage: str
    words: str
    node: str = "cp-1"


TROUBLES = {
    "slow boot": Trouble(Faults(slow_boot=60.0), "apply-config", "cannot connect"),
    "wrong disk": Trouble(
        Faults(wrong_disk=True), "apply-config", "install disk is /dev/sda; disks: /dev/vda"
    ),
    "full disk": Trouble(Faults(disk_full=True), "apply-config", "no space left on device"),
    "clock an hour ahead": Trouble(Faults(clock_skew=3600), "apply-config", "not yet valid"),
    "clock a little ahead": Trouble(Faults(clock_skew=5), "bootstrap", "time is not in sync yet"),
    "refused bootstrap": Trouble(
        Faults(refuse_bootstrap=True), "bootstrap", "bootstrap is not available yet"
    ),
    "lost network": Trouble(Faults(network_lost=True), "apply-config", "no connection within"),
    "never ready": Trouble(Faults(never_ready=True), "verify", "cni plugin not initialized"),
}


@asynccontextmanager
async def standing(
    folder: Path, tool: Callable[[str], Path], bundle: Bundle
) -> AsyncIterator[NodeSite]:
    async def find(name: str) -> Path:
        return tool(name)

    site = NodeSite(folder, find, bundle, apiservers="leader-only", timing=TIMING)
    try:
        yield site
    finally:
        await site.lab.close()


def failed_at(result: RunResult) -> str:
    """Before anything was applied it is the error itself that names the stage."""
    assert result.error
    failed = [stage.stage for stage in result.stages if stage.status == "failed"]
    return failed[0] if failed else result.error.what.partition(" cannot start: ")[0]


def assert_helps(result: RunResult, trouble: Trouble) -> None:
    """The error names the node, the reason and the next command; the result names the phase."""
    assert result.status is RunStatus.FAILED
    assert result.error
    assert failed_at(result) == trouble.stage
    assert trouble.node in str(result.error)
    assert trouble.words in str(result.error)
    assert result.error.hint
    assert "talops " in result.error.hint or "kubectl " in result.error.hint


@pytest.mark.sampled("stages on nodes")
@pytest.mark.parametrize("name", TROUBLES)
async def test_trouble_is_told_and_passes(
    name: str,
    tmp_path: Path,
    tool: Callable[[str], Path],
    bundle: Bundle,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Within its time limit the run ends with an error; without the fault the next one succeeds."""
    monkeypatch.setattr("talops.talos.transport.CONNECT_TIMEOUT", 0.5)
    trouble = TROUBLES[name]
    last = trouble.stage
    async with standing(tmp_path, tool, bundle) as site:
        site.lab.host.faults.set(trouble.node, trouble.faults)
        await site.start("cp-1")
        if not trouble.faults.slow_boot:
            await site.lab.listening("cp-1")
        if trouble.faults.network_lost:  # the lab takes a moment to cut it off
            while not site.lab.node("cp-1").apid.cut_off:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        if last == "verify":
            assert (await site.run("kubeconfig")).error is None
        assert_helps(await site.run(last, SHORT), trouble)
        site.lab.host.faults.clear(trouble.node)
        if trouble.faults.slow_boot:  # the firmware's wait has begun: switch it off and on
            machine = site.lab.machines["cp-1"]
            await site.lab.host.power_off(machine.uuid, graceful=False)
            await site.lab.host.power_on(machine)
        await site.lab.listening("cp-1")
        again = await site.run(last, QUICK)
        assert again.error is None, again.error


EARLY = ("boot", "network", "maintenance", "install", "config", "services", "etcd")
LATE = ("kubernetes", "kubelet")


async def survive(site: NodeSite, phase: str, last: str) -> None:
    """Run, and run again where the first run ended with a loss, as its error says."""
    site.lab.host.faults.set("cp-1", Faults(crash_at=phase))
    await site.start("cp-1")
    await site.lab.listening("cp-1")
    first = await site.run(last)
    if first.error:
        assert "cp-1" in str(first.error)
        assert first.error.hint
        await site.lab.listening("cp-1")
        again = await site.run(last)
        assert again.error is None, again.error
    assert not site.lab.host.faults.of("cp-1").crash_at, "the crash never happened"
    await site.assert_one_cluster()


@pytest.mark.parametrize("phase", EARLY)
async def test_crash_on_the_way_to_etcd(
    phase: str, tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> None:
    """A panic at any phase up to etcd: one run or two, and there is one etcd."""
    async with standing(tmp_path, tool, bundle) as site:
        await survive(site, phase, "bootstrap")


@pytest.mark.chaos
@pytest.mark.parametrize("phase", LATE)
async def test_crash_on_the_way_to_kubernetes(
    phase: str, tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> None:
    """The same, where an API server has to be waited for."""
    async with standing(tmp_path, tool, bundle) as site:
        await survive(site, phase, "verify")
