"""The page of a run: everything of the record, escaped, and nothing from outside."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from talops.errors import DeniedError
from talops.pipeline.history import list_runs
from talops.pipeline.record import Record, run_recorded
from talops.pipeline.run import Run
from talops.pipeline.stage import Change, Reporter, Stage
from talops.redaction import Secret
from talops.views.report import report_html

if TYPE_CHECKING:
    from pathlib import Path


class Make(Stage[bool, Change]):
    """Says a secret and some markup, then works or not."""

    name = "provision"

    def __init__(self, recorder: Record, fails: bool) -> None:
        recorder.learn(Secret("hunter2-hunter2"))
        self.recorder, self.fails = recorder, fails
        self.report = Reporter(self.name, recorder.emit)

    async def observe(self) -> bool:
        return False

    def plan(self, facts: bool) -> list[Change]:
        return [Change("create", "vm <b>cp-1</b>", "token hunter2-hunter2")]

    async def apply(self, change: Change) -> None:
        self.report.node("cp-1", vm="running", talos="booting")
        self.report.note("careful <script>", level="warning", hint="look")
        self.recorder.artifact(self.name, "plan.txt", "text")
        if self.fails:
            raise DeniedError("refused <i>", where="pve1", hint="talops preflight")

    async def verify(self, _: object, /) -> None:
        pass


@pytest.mark.parametrize("fails", [False, True])
async def test_the_page_tells_the_run(tmp_path: Path, fails: bool) -> None:
    """Stages, nodes, notes, errors and the record; markup is text, secrets are masked."""
    await run_recorded(
        Run(
            "up",
            "demo",
            tmp_path,
            lambda recorder: [Make(recorder, fails)],
            tools={"tofu": "1.12.6"},
        ),
        view=lambda _: None,
    )
    (run,) = list_runs(tmp_path / ".talops")
    page = report_html(run)
    for part in ("provision", "cp-1", "tofu", "1.12.6", "careful", "artifacts/provision/plan.txt"):
        assert part in page
    assert "<script" not in page
    assert "<b>" not in page
    assert "hunter2" not in page
    assert ("refused &lt;i&gt;" in page) == fails
    assert bool(re.search(r'class="bad"><span class="mark"[^>]*>✗</span> failed', page)) == fails
    assert '<rect x="' in page, "a bar on the axis of the run"
    assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", page)


class Later(Make):
    """A stage after one that failed."""

    name = "verify"


async def test_a_stage_that_was_not_reached_is_not_a_success(tmp_path: Path) -> None:
    """Neither its text nor a bar has the colour of success."""
    await run_recorded(
        Run("up", "demo", tmp_path, lambda recorder: [Make(recorder, True), Later(recorder, True)]),
        view=lambda _: None,
    )
    (run,) = list_runs(tmp_path / ".talops")
    row_of_verify = r'<div class="row"><span class="name">verify<.*?</div>'
    (row,) = re.findall(row_of_verify, report_html(run), flags=re.DOTALL)
    assert re.search(r'class="soft"><span class="mark"[^>]*>·</span> not reached', row)
    assert "good" not in row
    assert "<rect" not in row


async def test_a_killed_run_has_a_page_too(tmp_path: Path) -> None:
    """Without a result the record is all there is."""
    await run_recorded(
        Run("up", "demo", tmp_path, lambda recorder: [Make(recorder, fails=False)]),
        view=lambda _: None,
    )
    (run,) = list_runs(tmp_path / ".talops")
    (run.path / "result.json").unlink()
    (killed,) = list_runs(tmp_path / ".talops")
    assert "killed" in report_html(killed)
