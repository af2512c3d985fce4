"""A bring-up that stopped between its nodes: the worker has its config, the control plane none."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from tests.e2e.holdings import holdings

from talops.lab.talos.machine.faults import Faults

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]


async def test_up_goes_on_with_a_silent_worker(make_lab: MakeLab) -> None:
    """It waits for a certificate that only the control plane can sign: no reason to give up."""
    async with make_lab(control_planes=1, workers=1, sealed=True) as lab:
        lab.world.talos.host.faults.set("e2e-cp-1", Faults(disk_full=True))
        stopped = await lab.talops("up", "--yes")
        assert stopped.code == 1, stopped.everything
        assert "no space left on device" in stopped.everything
        lab.world.talos.host.faults.clear("e2e-cp-1")
        done = await lab.talops("up", "--yes")
        assert done.code == 0, done.everything
        assert "await e2e-w-1  (does not answer until a control plane signs" in done.everything
        assert holdings(lab).problems({"e2e-cp-1", "e2e-w-1"}) == []
