"""Texts of others are printed as they are: no markup, no crash (row 18)."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest
from rich.table import Table
from tests.examples import EXAMPLES

from talops.cli.app import run
from talops.cli.infra.view import open_view as open_layers_view
from talops.cli.output import console
from talops.events import Note
from talops.inventory.load import load
from talops.tofu.events import PlanJudged
from talops.views.choose import open_view

if TYPE_CHECKING:
    from pathlib import Path

# Ends a style that was never begun; begins one; a link; an emoji; a character of ASCII art.
NAMES = ("[/]", "[/red]", "[bold]x", "[link=https://x.example]y[/link]", ":bomb:", "[[", "\\\\[/]")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("cluster.yaml", "nodes.yaml"):
        (tmp_path / name).write_text((EXAMPLES / "dev" / name).read_text("utf-8"), "utf-8")
    return tmp_path


@pytest.mark.parametrize("who", NAMES)
@pytest.mark.parametrize("command", ["list", "locks"])
def test_the_holder_of_a_lock(
    root: Path, who: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The review's attack: a lock's `Who` of `[/]` crashed `state list`."""
    layer = root / f"infrastructure/02-platforms/{load(root).require().name}"
    layer.mkdir(parents=True)
    (layer / "terraform.tfstate").write_text(
        json.dumps({"version": 4, "serial": 1, "lineage": "l", "resources": []})
    )
    lock = {"ID": who, "Who": who, "Operation": who, "Created": who}
    (layer / ".terraform.tfstate.lock.info").write_text(json.dumps(lock))
    assert run(["state", command, "-C", str(root)]) == 0
    assert who in capsys.readouterr().out


@pytest.mark.parametrize("text", NAMES)
def test_the_console_of_every_command(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In cells, titles and lines."""
    found = Table(text, title=text)
    found.add_row(text)
    console().print(found)
    console().print(text)
    assert capsys.readouterr().out.count(text) == 4


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("name", NAMES)
def test_views_on_a_terminal(name: str) -> None:
    """A VM in Proxmox may be called so, and an error of its API may contain it."""
    infra, runs = Terminal(), Terminal()
    change = {"effect": "online", "name": name, "address": "a.b", "causes": []}
    with open_layers_view(json=False, out=infra, err=infra) as view:
        view(PlanJudged("01", (change,)))
        view(Note(name))
    with open_view(json=False, out=runs, err=runs) as view:
        view(Note(name, "warning", name))
    assert infra.getvalue().count(name) >= 2
    assert runs.getvalue().count(name) >= 2
