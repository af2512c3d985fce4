"""What programs read from commands does not change unnoticed: exit codes and JSON.

`tests/golden/commands` has the record; TALOPS_UPDATE_GOLDENS=1 writes it again, and the difference
is part of the commit.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.recorded import Answer, compare

from talops.app import verifying
from talops.app.drift import look as drift_look
from talops.app.drift.model import AreaDrift, Difference
from talops.cli import opening
from talops.cli.app import run
from talops.errors import DeniedError, TalopsError, UnreachableError
from talops.pipeline.checks import CheckResult, Finding, Verdict
from talops.pipeline.record import Record, run_recorded
from talops.pipeline.run import Run
from talops.pipeline.stage import Change, Reporter, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = Path(__file__).parents[1] / "examples"
VARIABLES = ("SOPS_AGE_KEY", "SOPS_AGE_KEY_FILE", "PROXMOX_VE_API_TOKEN", "TALOSCONFIG")


@pytest.fixture
def answer(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Any:
    """Type a command, in a directory of its own; its exit code and its output."""
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)

    def typed(*words: str | Path) -> Answer:
        capfd.readouterr()
        argv = [str(word) for word in words]
        code = run(argv)
        return Answer(code, capfd.readouterr().out, as_json={"json", "ansible"} & {*argv} != set())

    return typed


def all_of(answer: Any, root: Path, commands: str) -> dict[str, Answer]:
    """The answers of commands, one per line, all in this directory."""
    answers: dict[str, Answer] = {}
    for line in commands.strip().splitlines():
        name = f"{line} (again)" if line in answers else line
        answers[name] = answer("-C", root, *line.split())
    return answers


@pytest.fixture
def home(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of an example."""
    return lambda name: Path(shutil.copytree(EXAMPLES / name, tmp_path / name))


INVENTORY = """
check
check -o json
schema cluster
schema nodes
inventory show
inventory show -o json
inventory show -o ansible
configure --check -o json
configure --no-init -o json
configure --check
analyze
analyze -o json
talos schematic -o json
talos gen-secrets --plain
talos gen-secrets --plain
talos gen-config --check -o json
talos gen-config -o json
talos gen-config --check
talos validate talos/clusterconfig/two-cp-1.yaml -o json
"""


def test_inventory(answer: Any, home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the two files to generated ones, twice."""
    root = home("two-hosts")
    monkeypatch.chdir(root)
    compare("inventory", all_of(answer, root, INVENTORY))


EMPTY = """
check -o json
up --yes
down
reset --node a
recover
drift -o json
verify -o json
preflight -o json
analyze -o json
configure
support -o json
runs list -o json
runs show -o json
runs log -o json
state list -o json
secrets get -o json
infra plan -o json
infra state-list -o json
talos gen-config -o json
talos version -o json --talosconfig none
lab status -o json --dir none
lab fault list -o json --dir none
check --unknown
unknown
check -o xml
--version
"""
WRONG = """
check -o json
check
up --yes
down --yes --cluster ha
drift -o json
verify -o json
preflight -o json
analyze -o json
configure -o json
inventory show -o json
"""
REFUSED = """
down --yes
down --yes --cluster other
reset --yes --node none
up --only none
up --from verify --until addons
recover --from-snapshot none
recover --bootstrap-again other
verify --wait long
verify -o json
runs diff a b -o json
state list -o json
state show none -o json
state versions 02-platforms-ha -o json
state locks -o json
state backup -o json
talos gen-secrets --to talos/new.yaml --from-secrets none
secrets get -o json
"""


@pytest.mark.slow
def test_errors(answer: Any, home: Any, tmp_path: Path) -> None:
    """Without an inventory, with a wrong one, and with options that do not fit."""
    (empty := tmp_path / "empty").mkdir()
    compare("errors-empty", all_of(answer, empty, EMPTY))
    wrong = home("ha")
    with (wrong / "cluster.yaml").open("a", encoding="utf-8") as file:
        file.write("\nunknown_key: 1\nmtu: 10\n")
    compare("errors-inventory", all_of(answer, wrong, WRONG))
    compare("errors-refused", all_of(answer, home("bare-metal"), REFUSED))


class Make(Stage[bool, Change]):
    """Creates a VM, or is refused."""

    name = "provision"

    def __init__(self, record: Record, *, fails: bool) -> None:
        self._record, self._fails = record, fails

    async def observe(self) -> bool:
        return False

    def plan(self, _: bool) -> list[Change]:
        return [Change("create", "vm cp-1", "2 disks", "cp-1")]

    async def apply(self, _: Change) -> None:
        report = Reporter(self.name, self._record.emit)
        report.log("tofu: creating")
        report.node("cp-1", vm="running")
        self._record.artifact(self.name, "plan.txt", f"{self._fails}\n")
        if self._fails:
            raise DeniedError("token refused", where="pve1", hint="talops preflight")

    async def verify(self, _: object, /) -> None: ...


RUNS = """
runs list -o json
runs show -o json
runs show last
runs log --stage provision
runs log --stage none
"""


def test_runs_and_their_files(answer: Any, tmp_path: Path) -> None:
    """Two recorded runs, one that failed, and the files that they left."""

    def stages(record: Record, *, fails: bool) -> list[Make]:
        return [Make(record, fails=fails)]

    for fails in (True, False):
        asked = Run("up", "demo", tmp_path, partial(stages, fails=fails), tools={"tofu": "1.12.6"})
        asyncio.run(run_recorded(asked, view=lambda _: None))
    answers = all_of(answer, tmp_path, RUNS)
    first, second = sorted(path for path in (tmp_path / ".talops" / "runs").iterdir())
    answers["runs diff -o json"] = answer(
        "-C", tmp_path, "runs", "diff", first.name, second.name, "-o", "json"
    )
    for run_, end in ((first, "failed"), (second, "done")):
        for name in ("run.json", "result.json", "events.jsonl"):
            answers[f"{name} of a run that is {end}"] = _content(run_ / name)
        names = sorted(str(path.relative_to(run_)) for path in run_.rglob("*") if path.is_file())
        answers[f"files of a run that is {end}"] = Answer(0, json.dumps(dict.fromkeys(names, "")))
    answers["checkpoint.json"] = _content(tmp_path / ".talops" / "checkpoint.json")
    compare("runs", answers)


def _content(path: Path) -> Answer:
    return Answer(0, path.read_text(encoding="utf-8"))


ERROR = UnreachableError("no answer", where="10.0.0.1", hint="talops verify")
FOUND = Finding(Verdict.FAILED, "wrong", where="a", hint="b", final=True)
DIFFERENCE = Difference("talos", "cp-1", "machine.env", "a", "b", "online", "talops up", safe=True)
LOOKS: dict[str, tuple[list[CheckResult], list[AreaDrift]]] = {
    "right": ([CheckResult("etcd", (), 1.5)], [AreaDrift("talos")]),
    "wrong": (
        [CheckResult("etcd", (FOUND, Finding(Verdict.PASSED, "right")), 1.5)],
        [AreaDrift("talos", (DIFFERENCE,), (), ("a note",))],
    ),
    "unread": ([CheckResult("etcd", (FOUND,), 0.0)], [AreaDrift("talos", (DIFFERENCE,), (ERROR,))]),
}


@pytest.mark.parametrize("found", LOOKS)
def test_looks(found: str, answer: Any, home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` and `drift` of a cluster that is right, wrong, or cannot be read."""
    checks, areas = LOOKS[found]
    root = home("ha")

    async def checked(*_: object, **__: object) -> list[CheckResult]:
        return checks

    async def looked(*_: object) -> list[AreaDrift]:
        return areas

    monkeypatch.setattr(opening, "site_of", lambda *_: opening.closed_site(root))
    monkeypatch.setattr(verifying, "require_cluster", lambda _: None)
    monkeypatch.setattr(verifying, "look", checked)
    monkeypatch.setattr(verifying, "act", lambda *_, **__: checked())
    monkeypatch.setattr(drift_look, "look", looked)
    compare(f"looks-{found}", all_of(answer, root, "verify -o json\ndrift -o json\nverify\ndrift"))


def test_every_error_has_its_exit_code() -> None:
    """The tree of errors; a client's own errors inherit the exit code."""
    known: list[type[TalopsError]] = [TalopsError]
    for each in known:
        known += each.__subclasses__()
    ours = {each for each in known if each.__module__ == TalopsError.__module__}
    assert {each.__name__: each.exit_code for each in ours if each.exit_code != 1} == {
        "DifferencesFoundError": 2,
        "InterruptedRunError": 130,
        "InventoryError": 3,
        "PreflightError": 4,
    }
