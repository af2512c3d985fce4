"""The user is shown the key of an unknown machine, and accepts it by an answer (row 2)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import typer
from tests.examples import EXAMPLES
from tests.security.cluster.impostor import UUID

from talops.app.admission import keep_uuid, with_uuid
from talops.cli import accepting
from talops.cli.options import Format
from talops.errors import TalopsError
from talops.inventory.load import load
from talops.site.enrolment.proof import Acceptable, UnprovenMachineError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KEY = "A" * 43 + "="
MACHINE = Acceptable("cp-1", "10.0.0.11", KEY, UUID)


class Scene:
    """Runs that fail for this reason until the key is accepted, and answers of the user."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, *answers: bool) -> None:
        self.root = root
        self.given: list[list[str]] = []
        self.asked: list[str] = []
        self.answers = [*answers]
        patch.setattr(accepting, "in_terminal", self._run)
        patch.setattr(accepting, "yes_or_no", self._answer)
        patch.setattr(accepting, "_can_ask", lambda output: output is Format.TEXT)

    def build(self, accepted: Sequence[str]) -> Any:
        self.given.append([*accepted])
        return SimpleNamespace(root=self.root), None

    async def _run(self, *_: Any) -> Any:
        if f"cp-1={KEY}" in self.given[-1]:
            return SimpleNamespace(error=None, exit_code=0)
        error = UnprovenMachineError("no machine config was sent")
        error.acceptable = (MACHINE,)
        return SimpleNamespace(error=error, exit_code=1)

    async def _answer(self, question: str) -> bool:
        self.asked.append(question)
        return self.answers.pop(0)

    def code(self, output: Format = Format.TEXT, *, asks: bool = True) -> int:
        with pytest.raises(typer.Exit) as ended:
            accepting.run_accepting(self.build, (), output, asks=asks)
        return ended.value.exit_code


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("cluster.yaml", "nodes.yaml"):
        text = (EXAMPLES / "bare-metal" / name).read_text("utf-8")
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_accepted(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The question shows node, address and key; then the run continues with it."""
    scene = Scene(root, monkeypatch, True, False)
    assert scene.code() == 0
    assert scene.given == [[], [f"cp-1={KEY}"]]
    assert f"cp-1 (10.0.0.11) shows the key {KEY}" in capsys.readouterr().err
    assert scene.asked[0] == "Is this the key on the console of cp-1?"
    assert UUID not in (root / "nodes.yaml").read_text()


@pytest.mark.parametrize(
    ("output", "asks", "answers"),
    [(Format.TEXT, True, (False,)), (Format.JSON, True, ()), (Format.TEXT, False, ())],
    ids=["no", "JSON", "--yes"],
)
def test_not_accepted(
    root: Path, monkeypatch: pytest.MonkeyPatch, output: Format, asks: bool, answers: tuple[bool]
) -> None:
    """Without an explicit yes, the run failed, and nothing is run again."""
    scene = Scene(root, monkeypatch, *answers)
    assert scene.code(output, asks=asks) == 1
    assert scene.given == [[]]


def test_written_to_the_inventory_on_request(root: Path) -> None:
    """All else in the file stays; the inventory has the UUID then."""
    before = (root / "nodes.yaml").read_text()
    node = load(root).require().nodes[0]
    keep_uuid(root, node.name, UUID)
    words = (root / "nodes.yaml").read_text().split()
    assert words.count(UUID) == 1
    kept = [word for word in words if word not in {UUID, "uuid:"}]
    assert sorted(kept) == sorted(before.split())
    assert load(root).require().nodes[0].uuid == UUID
    with pytest.raises(TalopsError, match="its entry was not found"):
        keep_uuid(root, node.name, UUID)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "nodes:\n  - name: a\n    address: 1\n",
            "nodes:\n  - uuid: U\n    name: a\n    address: 1\n",
        ),
        (
            "nodes:\n- address: 1  # x\n  name: a\n",
            "nodes:\n- uuid: U\n  address: 1  # x\n  name: a\n",
        ),
        ("nodes: [{name: a}, {name: b}]\n", "nodes: [{uuid: U, name: a}, {name: b}]\n"),
        (
            "nodes:\n  - {name: b}\n  - { name: a }\n",
            "nodes:\n  - {name: b}\n  - { uuid: U, name: a }\n",
        ),
        ("nodes: [{name: a, uuid: V}]\n", None),
        ("nodes: [{name: b}]\n", None),
        ("nodes: {", None),
        ("", None),
    ],
)
def test_the_text_with_a_uuid(text: str, expected: str | None) -> None:
    """In block and flow style, with comments."""
    assert with_uuid(text, "a", "U") == expected
