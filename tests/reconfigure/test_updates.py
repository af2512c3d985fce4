"""A trial of an interrupted run: confirmed, ended, or still pending."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from talops.reconfigure.trial import NoProof, Trial, TrialError
from talops.reconfigure.updates import ConfigUpdates
from talops.site.fleet import Configured
from talops.site.node_facts import UPDATE, ConfigChange
from talops.talos.kinds import MachineStatus

RUNNING = MachineStatus("running", ready=True, unmet=())
OLD = "machine:\n    type: worker\n"
NEW = f"{OLD}---\napiVersion: v1alpha1\nkind: StaticHostConfig\nname: 10.0.0.9\n"
NODE: Any = SimpleNamespace(name="w-1", controller=False, address="10.0.0.1")
CHANGE = ConfigChange(UPDATE, "w-1", config=NEW, cuts=("StaticHostConfig/10.0.0.9",), trying=True)


class World:
    """One node: each look takes the next state; what it is told is kept."""

    def __init__(self, *states: Configured) -> None:
        self.states = list(states)
        self.told: list[str] = []

    async def look(self, _: object) -> Configured:
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    def talos(self, _: object) -> Any:
        async def version() -> Any:
            return SimpleNamespace(tag="v1.14.1")

        async def apply(_: str, *, mode: Any) -> None:
            self.told.append(mode.name)

        machine = SimpleNamespace(apply_configuration=apply)
        return contextlib.nullcontext(SimpleNamespace(version=version, machine=machine))


def updates(world: World) -> ConfigUpdates:
    async def fleet() -> World:
        return world

    async def wait(_: object) -> None:
        return

    limits = SimpleNamespace(trial=1.0, install=1.0, interval=0.01)
    site: Any = SimpleNamespace(limits=limits)
    configs: Any = SimpleNamespace(fleet=fleet, wait=wait)
    nothing: Any = None
    return ConfigUpdates(site, nothing, configs, nothing)


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The configs from which a trial began; none of the interrupted ones is confirmed."""
    began: list[str] = []

    async def run(_: Trial, running: str, __: object) -> None:
        began.append(running)

    async def confirm(*_: object) -> bool:
        return False

    monkeypatch.setattr(Trial, "run", run)
    monkeypatch.setattr(Trial, "confirm", confirm)
    return began


async def test_it_ended_meanwhile(tried: list[str]) -> None:
    """The node runs its old config: it is tried again before anything is stored."""
    world = World(Configured(NEW, RUNNING, OLD), Configured(OLD, RUNNING, OLD))
    await updates(world).live(NODE, CHANGE, NoProof())
    assert tried == [OLD]
    assert world.told == ["NO_REBOOT"]


async def test_it_does_not_end(tried: list[str]) -> None:
    """What does not prove itself is not stored; a reboot brings the stored config back."""
    world = World(Configured(NEW, RUNNING, OLD))
    with pytest.raises(TrialError, match="runs a config that it has not stored") as refused:
        await updates(world).live(NODE, CHANGE, NoProof())
    assert refused.value.hint
    assert refused.value.hint.startswith("talops talos reboot --nodes 10.0.0.1")
    assert tried == []
    assert world.told == []


async def test_it_is_confirmed(tried: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the config is only stored."""

    async def confirm(*_: object) -> bool:
        return True

    monkeypatch.setattr(Trial, "confirm", confirm)
    world = World(Configured(NEW, RUNNING, OLD))
    await updates(world).live(NODE, CHANGE, NoProof())
    assert tried == []
    assert world.told == ["NO_REBOOT"]
