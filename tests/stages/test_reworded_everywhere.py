"""No stage decides by what a change says of itself, also one that was written today."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.stages.reworded import Log, reworded
from tests.stages.unknown import changes_of, every_stage, isolate

from talops.errors import TalopsError
from talops.pipeline.stage import Change, Stage

if TYPE_CHECKING:
    import random

STAGES = every_stage()
SEEDS = 5
PATIENCE = 5.0


async def outcome(stage: Any, change: Change, log: Log) -> tuple[Log, str]:
    """The calls that the stage makes for this change, and how it ends."""
    log.clear()
    try:
        await asyncio.wait_for(stage.apply(change), PATIENCE)
    except TalopsError as error:
        return list(log), type(error).__name__
    except Exception as error:  # noqa: BLE001 (stand-ins do not fit everywhere: where, is compared)
        return list(log), f"{type(error).__name__} at {_line(error)}"
    return list(log), "done"


def _line(error: BaseException) -> int:
    trace, line = error.__traceback__, 0
    while trace:
        line, trace = trace.tb_lineno, trace.tb_next
    return line


async def outcomes(stage: Any, changes: list[Change], log: Log) -> list[tuple[Log, str]]:
    return [await outcome(stage, change, log) for change in changes]


@pytest.mark.parametrize("kind", STAGES, ids=lambda kind: kind.__name__)
async def test_rewording_changes_no_stage(
    kind: type[Any], rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same calls and the same end, whatever the texts of its changes are."""
    log: Log = []
    stage = isolate(kind, log, monkeypatch)
    changes = list(changes_of(kind, log))
    meant = await outcomes(stage, changes, log)
    assert meant
    for _ in range(SEEDS):
        said = [reworded(change, rng) for change in changes]
        assert await outcomes(stage, said, log) == meant


def test_every_stage_is_found() -> None:
    """The classes of all files, those of other folders among them."""
    names = {kind.__name__ for kind in STAGES}
    assert names >= {"ResetNodes", "Provision", "NodeLabels", "Restore"}
    assert len(names) == len(STAGES) > 25


class Reader(Stage[None, Change]):
    """Decides by a word, in a way that no other test knows."""

    name = "reader"

    async def observe(self) -> None: ...

    def plan(self, _: None) -> list[Change]:
        return []

    async def apply(self, change: Change) -> None:
        if "etcd" in change.detail:
            await self._fleet.wipe(change.node)  # type: ignore[attr-defined]

    async def verify(self, _: object, /) -> None: ...


async def test_a_stage_that_reads_shows(monkeypatch: pytest.MonkeyPatch, rng: Any) -> None:
    """The check itself can fail."""
    log: Log = []
    stage = isolate(Reader, log, monkeypatch)
    changes = list(changes_of(Reader, log))
    meant = await outcomes(stage, changes, log)
    said = [[reworded(change, rng) for change in changes] for _ in range(SEEDS * 10)]
    assert any([await outcomes(stage, each, log) != meant for each in said])
