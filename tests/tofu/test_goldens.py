"""Every golden that has VMs lives a whole life in a lab: made, left alone, taken down."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.tofu.goldens import WITH_VMS, at_home

from talops.app.infra.layers import Order
from talops.app.infra.running import apply_saved, destroy_layers, plan_layers
from talops.tofu.events import ResourceChange
from talops.tofu.policy import Policy

if TYPE_CHECKING:
    from tests.real_provider import Programs
    from tests.tofu.home import Home

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.sampled("lives of goldens")
@pytest.mark.parametrize("name", WITH_VMS)
async def test_life(
    name: str, programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """init, plan, apply, empty plan, no-op apply, destroy, and Proxmox is as it was."""
    async with at_home(name, tmp_path, programs, monkeypatch) as home:
        await live(home)


async def test_life_with_terraform(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The main case with the other program, where it is installed."""
    terraform = shutil.which("terraform")
    if not terraform:
        pytest.skip("no terraform on PATH")
    async with at_home(
        "dev", tmp_path, replace(programs, engine=Path(terraform)), monkeypatch
    ) as home:
        await live(home)


async def live(home: Home) -> None:
    run = home.run
    before = home.things()
    for layer in run.layers:
        alone = replace(run, layers=(layer,))
        assert await plan_layers(alone, ()) == [layer.name]
        await apply_saved(alone, Order())
    assert run.cluster
    assert {n.name for n in run.cluster.nodes} <= set(home.vms)
    assert all(vm.is_running for vm in home.vms.values())
    for layer in run.layers:
        saved = run.saved(layer)
        assert not await run.engine(layer).plan(saved), "a second plan is not empty"
        home.events.clear()
        await run.engine(layer).apply(saved, parallelism=4)
        assert not [e for e in home.events if isinstance(e, ResourceChange)]
    await destroy_layers(run, Order(Policy(everything=True)), lambda _: None)
    assert home.things() == before
