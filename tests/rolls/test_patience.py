"""A control plane that stops takes the API at the shared address with it for a moment."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from talops.errors import TalopsError, UnreachableError
from talops.events import PartProgress
from talops.pipeline.stage import Reporter
from talops.rolls.options import DEFAULT
from talops.rolls.steps import Steps
from talops.rolls.turn import Step, Turn
from talops.site.site import Limits, Site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.examples import Example

    from talops.events import Event
    from talops.kube.objects import Object, Ref

# As httpx says it when the address has moved to another control plane.
MOVED = "the Kubernetes API does not answer: Server disconnected without sending a response."


class Api:
    """Every question and every change fails `away` times before it is answered."""

    def __init__(self, away: int, *names: str) -> None:
        self._away = away
        self._failures: dict[str, int] = {}
        status = {"conditions": [{"type": "Ready", "status": "True"}]}
        self._nodes: list[Object] = [
            {"metadata": {"name": name}, "spec": {}, "status": status} for name in names
        ]
        self.merged: list[Any] = []

    def _answer(self, what: str) -> None:
        self._failures[what] = self._failures.get(what, 0) + 1
        if self._failures[what] <= self._away:
            raise UnreachableError(MOVED)

    async def nodes(self) -> dict[str, Object]:
        self._answer("nodes")
        return {node["metadata"]["name"]: node for node in self._nodes}

    async def merge(self, ref: Ref, patch: Object) -> None:
        self._answer(f"merge {len(self.merged)}")
        self.merged.append(patch)

    async def get(self, ref: Ref) -> Object | None:
        return (await self.nodes()).get(ref.name)

    async def list_all(self, _: str, kind: str, **more: str) -> list[Object]:
        self._answer(f"list {kind} {more}")
        return self._nodes if kind == "Node" else []

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Api]:
        yield self


class Silent:
    """Nodes that do not answer: all that this is about is Kubernetes."""

    resources: Any

    @contextlib.asynccontextmanager
    async def talos(self, _: object) -> AsyncIterator[Silent]:
        yield self

    def __getattr__(self, _: str) -> Any:
        raise UnreachableError("no answer")


async def emptied(api: Api, example: Example, root: Path, kubernetes: float) -> list[Event]:
    cluster = example("ha")
    nothing: Any = None
    events: list[Event] = []
    limits = dataclasses.replace(Limits(), kubernetes=kubernetes, interval=0.001)
    site = Site(cluster, root, {}, {}, nothing, root, root / "kubeconfig", limits)
    fleet: Any = Silent()
    kube: Any = api
    turn = Turn(cluster.nodes[0], "reboot")
    steps = Steps(turn, site, fleet, kube, DEFAULT, Reporter("roll", events.append))
    await steps.look()
    await steps.empty()
    return [event for event in events if isinstance(event, PartProgress)]


async def test_a_moment_without_an_answer_ends_no_roll(example: Example, tmp_path: Path) -> None:
    """Each call of a node's cordon and drain is repeated until the next API server answers."""
    api = Api(2, *example("ha").node_names)
    events = await emptied(api, example, tmp_path, 60.0)
    done = [e.doing for e in events if isinstance(e, PartProgress) and e.phase == "done"]
    assert done == [Step.CORDON, Step.DRAIN, Step.DETACH]
    assert api.merged[0]["spec"] == {"unschedulable": True}


async def test_an_api_that_stays_away_ends_it(example: Example, tmp_path: Path) -> None:
    """With the last reason, and with what comes next."""
    api = Api(10**9, *example("ha").node_names)
    with pytest.raises(TalopsError, match="Server disconnected") as failed:
        await emptied(api, example, tmp_path, 0.01)
    assert failed.value.hint
    assert failed.value.hint.endswith("talops up")
