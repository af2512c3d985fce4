"""A face other than the command line: it opens sites, runs workflows and looks, through `app`."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

import pytest
from tests.app.scripted import Scripted, decline
from tests.examples import EXAMPLES

from talops.app.drift.look import look
from talops.app.drift.repairs import repairs
from talops.app.opening import WrongInventoryError, closed_site, open_keys, open_site
from talops.app.running import execute
from talops.app.runs import Manner, down, repair, reset, up
from talops.errors import ConflictError, TalopsError
from talops.events import RunFinished, RunStarted, StageFinished
from talops.pipeline.history import find_run, list_runs
from talops.pipeline.interrupt import Interruption
from talops.pipeline.result import RunStatus
from talops.pipeline.selection import Selection
from talops.redaction import Secret
from talops.secrets.init import init
from talops.secrets.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from talops.events import Event
    from talops.site.site import Site

CONFIGURE = Selection(only=("configure",))
TOKEN = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def environment(tool: Callable[[str], Path], tmp_path: Path) -> Mapping[str, str]:
    """All that a site may know of the world around it."""
    folders = {str(tool(name).parent) for name in ("tofu", "sops", "age")}
    return {"PATH": ":".join(sorted(folders)), "HOME": str(tmp_path)}


@pytest.fixture
def directory(tmp_path: Path, environment: Mapping[str, str]) -> Callable[[str], Path]:
    """A private copy of an example, with keys and one credential."""

    def copy(name: str) -> Path:
        root = tmp_path / name
        root.mkdir()
        for file in ("cluster.yaml", "nodes.yaml"):
            shutil.copy(EXAMPLES / name / file, root)
        return root

    return copy


async def opened(root: Path, environment: Mapping[str, str]) -> Site:
    told: list[Event] = []
    if not (root / "age.key").exists():
        keys = await open_keys(root, environment, told.append)
        made = await init(keys.sops, keys.file, hook=False)
        await Vault.of(made.sops).write({"proxmox_api_token_secret": Secret(TOKEN)})
    return await open_site(closed_site(root, environment), told.append)


async def test_a_run_from_question_to_report(
    directory: Callable[[str], Path], environment: Mapping[str, str]
) -> None:
    """One question about the whole plan, events, a result, a record and a report."""
    site, face = await opened(directory("dev"), environment), Scripted()
    result = await execute(site, up(site, selection=CONFIGURE), face)
    assert (result.status, result.exit_code, face.notes) == (RunStatus.DONE, 0, [])
    ((plan, consent),) = face.asked
    assert [stage.stage.name for stage in plan.stages if stage.changes] == ["configure"]
    assert (consent.hint, consent.name) == ("talops up --yes", "")
    assert isinstance(face.events[0], RunStarted)
    assert isinstance(face.events[-1], RunFinished)
    changed = [e.stage for e in face.shown(StageFinished) if e.status == "changed"]
    assert changed == ["configure"]
    past = find_run(site.root / ".talops", "last")
    assert (past.info.id, past.info.cluster, past.status) == (face.events[0].run, "dev", "done")
    assert set(past.info.inventory) == {"cluster.yaml", "nodes.yaml"}
    assert (past.path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")

    again, other = await opened(site.root, environment), Scripted()
    result = await execute(again, up(again, selection=CONFIGURE), other)
    assert (result.status, other.asked) == (RunStatus.UNCHANGED, [])


async def test_no_credential_leaves_a_run(
    directory: Callable[[str], Path], environment: Mapping[str, str]
) -> None:
    """Stages report through the record of a run, which masks what the site has opened."""
    site, face = await opened(directory("dev"), environment), Scripted()
    run = up(site, Manner(dry_run=True), selection=CONFIGURE)
    assert run.redact(f"token {TOKEN}") == "token ***"
    result = await execute(site, run, face)
    assert (result.status, result.exit_code, face.asked) == (RunStatus.DIFFERENCES, 2, [])
    assert not (site.root / "infrastructure" / "02-platforms").exists()


async def test_a_declined_and_an_approved_plan(
    directory: Callable[[str], Path], environment: Mapping[str, str]
) -> None:
    """No changes nothing; what was approved before is not asked again."""
    site, face = await opened(directory("dev"), environment), Scripted(decline)
    declined = await execute(site, up(site, selection=CONFIGURE), face)
    assert (declined.status, len(face.asked)) == (RunStatus.DECLINED, 1)
    approved = await execute(site, up(site, Manner(yes=True), selection=CONFIGURE), face)
    assert (approved.status, len(face.asked)) == (RunStatus.DONE, 1)


async def test_runs_of_one_site_exclude_each_other(
    directory: Callable[[str], Path], environment: Mapping[str, str]
) -> None:
    """While one is asked, a second run is refused and leaves no trace; another site is free."""
    first = await opened(directory("dev"), environment)
    second = await opened(directory("single"), environment)
    at_question, go_on = asyncio.Event(), asyncio.Event()

    async def wait() -> bool:
        at_question.set()
        await go_on.wait()
        return True

    face = Scripted(wait)
    under_way = asyncio.ensure_future(execute(first, up(first, selection=CONFIGURE), face))
    await at_question.wait()
    refused = Scripted()
    with pytest.raises(ConflictError, match="talops up by") as conflict:
        await execute(first, up(first, selection=CONFIGURE), refused)
    assert (conflict.value.exit_code, refused.events) == (1, [])
    with pytest.raises(ConflictError, match="another run is in progress"):
        await look(first, ["files"])
    elsewhere = await execute(second, up(second, selection=CONFIGURE), Scripted())
    assert elsewhere.status is RunStatus.DONE
    assert [run.status for run in list_runs(first.root / ".talops")] == ["running"]
    go_on.set()
    assert (await under_way).status is RunStatus.DONE
    assert {run.info.cluster for run in list_runs(second.root / ".talops")} == {"single"}


async def test_a_run_is_stopped_from_outside(
    directory: Callable[[str], Path], environment: Mapping[str, str]
) -> None:
    """A button instead of Ctrl-C."""
    site, interruption = await opened(directory("dev"), environment), Interruption()

    async def stop() -> bool:
        interruption.request()
        await asyncio.Event().wait()
        return True

    result = await execute(site, up(site, selection=CONFIGURE), Scripted(stop), interruption)
    assert (result.status, result.exit_code) == (RunStatus.INTERRUPTED, 130)


async def test_a_difference_is_found_and_repaired(
    directory: Callable[[str], Path], environment: Mapping[str, str]
) -> None:
    """A repair that changes nothing in use needs no confirmation."""
    site = await opened(directory("dev"), environment)
    await execute(site, up(site, selection=CONFIGURE), Scripted())
    assert not repairs(await look(site, ["files"]))
    (site.root / "justfile").unlink()
    found = repairs(await look(site, ["files"]))
    assert found.files
    face = Scripted(decline)
    result = await execute(site, repair(site, found), face)
    assert (result.status, face.asked) == (RunStatus.DONE, [])
    assert (site.root / "justfile").exists()


async def test_what_is_destroyed_is_typed(
    directory: Callable[[str], Path], environment: Mapping[str, str]
) -> None:
    """A run says what must be typed, so that every face can ask for it."""
    site = await opened(directory("dev"), environment)
    assert (down(site).consent.name, down(site).consent.what) == ("dev", "destroys cluster dev")
    node = site.cluster.node_names[0]
    assert (reset(site, node).consent.name, reset(site, node).command) == (node, "reset")
    with pytest.raises(TalopsError, match="does not have a node x"):
        reset(site, "x")


def test_every_problem_is_there_to_be_shown(
    directory: Callable[[str], Path], environment: Mapping[str, str]
) -> None:
    """A face decides how; the error counts them."""
    root = directory("dev")
    text = (root / "cluster.yaml").read_text(encoding="utf-8")
    (root / "cluster.yaml").write_text(text.replace("v1.14.1", "1.x"), encoding="utf-8")
    with pytest.raises(WrongInventoryError, match="the inventory has") as refused:
        closed_site(root, environment)
    assert refused.value.problems
    assert refused.value.exit_code == 3
