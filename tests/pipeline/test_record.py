"""What surrounds a run: a display that dies, a second run, a retention that never bites."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from talops.errors import ConflictError, InventoryError
from talops.events import Event, Note, RunFinished
from talops.pipeline.history import find_run, list_runs, read_events
from talops.pipeline.record import Record, run_recorded
from talops.pipeline.run import Run
from talops.pipeline.stage import Change, Stage

if TYPE_CHECKING:
    from pathlib import Path


class One(Stage[bool, Change]):
    """A single change."""

    name = "one"
    done = False

    async def observe(self) -> bool:
        return self.done

    def plan(self, facts: bool) -> list[Change]:
        return [] if facts else [Change("create", "thing")]

    async def apply(self, change: Change) -> None:
        self.done = True

    async def verify(self, _: object, /) -> None:
        assert self.done


async def test_a_run_outlives_its_display(tmp_path: Path) -> None:
    """A closed pipe is written down; the change is applied anyway."""

    def closed(event: Event) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    result = await run_recorded(Run("up", "demo", tmp_path, lambda _: [One()]), view=closed)
    assert result.exit_code == 0
    events = [e for _, e in read_events(find_run(tmp_path / ".talops", "last"))]
    assert any(isinstance(e, Note) and "cannot write to the terminal" in e.message for e in events)
    assert isinstance(events[-1], RunFinished)


async def test_a_run_outlives_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is said once; the change is applied anyway."""
    shown: list[Event] = []

    def full(self: object, event: Event) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("talops.pipeline.rundir.RunDirectory.record", full)
    stage = One()
    result = await run_recorded(Run("up", "demo", tmp_path, lambda _: [stage]), view=shown.append)
    assert (result.exit_code, stage.done) == (0, True)
    notes = [e.message for e in shown if isinstance(e, Note)]
    assert notes == ["the record of this run is incomplete: [Errno 28] No space left on device"]


async def test_a_run_that_cannot_be_built_is_recorded(tmp_path: Path) -> None:
    """The error is the result, with its exit code, and no run seems to be killed."""

    def build(recorder: Record) -> list[One]:
        raise InventoryError("no nodes", where="nodes.yaml")

    result = await run_recorded(Run("up", "demo", tmp_path, build), view=lambda _: None)
    assert result.exit_code == 3
    assert find_run(tmp_path / ".talops", "last").status == "failed"


async def test_a_second_run_is_refused_and_leaves_no_trace(tmp_path: Path) -> None:
    """While a run is in progress, another one gets a conflict, and the list shows one running."""
    seen: list[str] = []

    class Nested(One):
        async def verify(self, _: object, /) -> None:
            with pytest.raises(ConflictError, match="talops up by"):
                await run_recorded(
                    Run("down", "demo", tmp_path, lambda _: [One()]), view=lambda _: None
                )
            seen.extend(run.status for run in list_runs(tmp_path / ".talops"))

    def build(recorder: Record) -> list[One]:
        return [Nested()]

    await run_recorded(Run("up", "demo", tmp_path, build), view=lambda _: None)
    assert seen == ["running"]


async def test_a_bug_is_recorded_and_shown(tmp_path: Path) -> None:
    """The run ends as failed in its record, and the exception still reaches the top."""

    class Broken(One):
        def plan(self, facts: bool) -> list[Change]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_recorded(Run("up", "demo", tmp_path, lambda _: [Broken()]), view=lambda _: None)
    past = find_run(tmp_path / ".talops", "last")
    assert past.status == "failed"
    assert past.error
    assert "ZeroDivisionError" in str(past.error["what"])
