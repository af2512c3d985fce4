"""`talops runs`, as it is typed."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import pytest

from talops.cli.app import run as talops
from talops.errors import DeniedError
from talops.pipeline.record import Record, run_recorded
from talops.pipeline.run import Run
from talops.pipeline.stage import Change, Reporter, Stage

if TYPE_CHECKING:
    from pathlib import Path


class Make(Stage[bool, Change]):
    """Creates a VM, or is refused."""

    name = "provision"

    def __init__(self, recorder: Record, fails: bool) -> None:
        self.recorder, self.fails = recorder, fails

    async def observe(self) -> bool:
        return False

    def plan(self, facts: bool) -> list[Change]:
        return [Change("create", "vm cp-1")]

    async def apply(self, change: Change) -> None:
        Reporter(self.name, self.recorder.emit).log("tofu: creating")
        self.recorder.artifact(self.name, "plan.txt", "fails\n" if self.fails else "works\n")
        if self.fails:
            raise DeniedError("token refused", where="pve1", hint="talops preflight")

    async def verify(self, _: object, /) -> None:
        pass


def stages(fails: bool, record: Record) -> list[Make]:
    return [Make(record, fails)]


@pytest.fixture
async def runs(tmp_path: Path) -> Path:
    for fails in (True, False):
        await run_recorded(
            Run("up", "demo", tmp_path, partial(stages, fails), tools={"tofu": "1.12.6"}),
            view=lambda _: None,
        )
    return tmp_path


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["list"], ["RUN", "failed", "done", "demo"]),
        (["show"], ["status    done", "tofu 1.12.6", "create vm cp-1", "provision"]),
        (["log"], ["provision: create vm cp-1", "Finished in", "provision: 1 change"]),
        (["log", "--stage", "provision"], ["tofu: creating"]),
    ],
)
def test_runs_are_shown(
    runs: Path, words: list[str], shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Results are on stdout; nothing is said on stderr."""
    assert talops(["runs", *words, "-C", str(runs)]) == 0
    out, err = capsys.readouterr()
    assert all(word in out for word in shown), out
    assert err == ""


def test_runs_as_json_and_compared(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The list is valid JSON, newest first; diff takes the ids from it."""
    assert talops(["runs", "list", "-o", "json", "-C", str(runs)]) == 0
    new, old = json.loads(capsys.readouterr().out)
    assert (old["status"], new["status"]) == ("failed", "done")
    assert talops(["runs", "diff", old["id"], new["id"], "-C", str(runs)]) == 0
    text = capsys.readouterr().out
    assert "status" in text
    assert "-fails\n+works" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "nonsense"], "run 'nonsense' does not exist"),
        (["show", "2"], "2 runs match '2'"),
        (["log", "--stage", "nope"], "this run has no stage 'nope'"),
    ],
)
def test_a_wrong_name_is_explained(
    runs: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error says what is there instead."""
    assert talops(["runs", *words, "-C", str(runs)]) == 1
    assert said in capsys.readouterr().err


def test_no_runs_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Listing an empty directory works; showing a run of it is a clear error."""
    assert talops(["runs", "list", "-C", str(tmp_path)]) == 0
    assert talops(["runs", "show", "-C", str(tmp_path)]) == 1
    assert "there are no runs yet" in capsys.readouterr().err
