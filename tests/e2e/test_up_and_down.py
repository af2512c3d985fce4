"""The main job, from two files to a verified cluster and back, in the lab."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]


async def test_up_again_and_down(make_lab: MakeLab) -> None:
    """A second `up` finds nothing to do; `down` leaves an empty Proxmox."""
    async with make_lab(control_planes=1, workers=1) as lab:
        made = await lab.talops("secrets", "init")
        assert made.code == 0, made.everything
        first = await lab.talops("up", "--yes")
        assert first.code == 0, first.everything
        assert "Finished in" in first.err
        assert set(lab.vms()) == {"e2e-cp-1", "e2e-w-1"}

        second = await lab.talops("up", "--yes", "-o", "json")
        assert second.code == 0, second.everything
        events = [json.loads(line) for line in second.out.splitlines()]
        assert not [e for e in events if e["kind"] == "change_started"]

        wrong = await lab.talops("down", "--yes", "--cluster", "other")
        assert wrong.code == 1
        assert set(lab.vms()) == {"e2e-cp-1", "e2e-w-1"}
        gone = await lab.talops("down", "--yes", "--cluster", "e2e", "--all-layers")
        assert gone.code == 0, gone.everything
        assert lab.vms() == {}
