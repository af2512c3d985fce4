"""`talops --help` is grouped and complete; environment variables show on request."""

from __future__ import annotations

import io
import re
import sys
from typing import Any

import pytest

from talops.cli.app import COMMANDS, build, run
from talops.cli.help import PANELS
from talops.cli.reference import leaves

WIDTH = 80
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def groups(command: Any, path: str = "talops") -> list[tuple[str, Any]]:
    """Each command that has commands of its own."""
    children = getattr(command, "commands", {})
    below = [group for name, child in children.items() for group in groups(child, f"{path} {name}")]
    return [(path, command), *below] if children else below


def test_every_command_has_a_panel() -> None:
    """A new command does not vanish from the help."""
    named = [name for names in PANELS.values() for name in names]
    assert sorted(named) == sorted(COMMANDS)


def test_plain_help_is_grouped(capsys: pytest.CaptureFixture[str]) -> None:
    """Pipes see the same panels as terminals."""
    assert run(["--help"]) == 0
    printed = capsys.readouterr().out
    headings = [line.rstrip(":") for line in printed.splitlines() if line.endswith(":")]
    assert headings == ["Options", *PANELS]


def test_summaries_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 80 columns each list of commands shows the whole summary of each."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    for path, group in groups(build(list(COMMANDS))):
        context = group.context_class(group, info_name=path, terminal_width=WIDTH)
        printed = " ".join(group.get_help(context).split())
        for name, child in group.commands.items():
            summary = " ".join(child.help.split("\n\n")[0].split())
            assert f"{name} {summary}" in printed


class Screen(io.StringIO):
    """A terminal: rich draws the help as boxes."""

    def isatty(self) -> bool:
        return True


def test_names_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns shows each option, value and default in full."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setattr(sys, "stdout", Screen())
    commands = leaves("talops", build(list(COMMANDS)))
    assert len(commands) > 50
    cut: dict[str, str] = {}
    for name, command in commands:
        context = command.context_class(command, info_name=name)
        monkeypatch.setattr(sys, "stdout", screen := Screen())
        command.get_help(context)
        meant = re.compile(r"A,B,…|talos-crash …|\w+=…")
        shown = meant.sub("", COLOUR.sub("", screen.getvalue()))
        assert "╭─ Options" in shown, name
        cut.update((name, line) for line in shown.splitlines() if "…" in line)
    assert not cut


@pytest.mark.parametrize(("argv", "shown"), [([], False), (["--verbose"], True)])
def test_variables_on_request(
    argv: list[str], shown: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """The variable of an option is shown by `--help --verbose` alone."""
    assert run(["up", "--help", *argv]) == 0
    assert ("TALOPS_DRY_RUN" in capsys.readouterr().out) is shown


def test_verbose_is_not_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    """Without `--help` it is refused like any unknown option, and never passed on silently."""
    assert run(["schema", "--verbose"]) == 1
    assert "--verbose" in capsys.readouterr().err
