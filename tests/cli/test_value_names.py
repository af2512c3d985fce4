"""Help names what a flag takes, never Python's types."""

from __future__ import annotations

import re
from typing import Any

import pytest

from talops.cli.app import COMMANDS, build, run
from talops.cli.reference import leaves

ROOT = build(list(COMMANDS))
LEAVES = [leaf for name, command in ROOT.commands.items() for leaf in leaves(name, command)]


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=[path for path, _ in LEAVES])
def test_no_type_is_shown(path: str, command: Any) -> None:
    """Neither `<bool>` nor `<str>` nor `<list[str]>`, also for `--help`; choices stay."""
    context = command.context_class(command, info_name=path)
    params = command.get_params(context)
    assert any("--help" in param.opts for param in params)
    for param in params:
        shown = param.display_type_rich(context)
        choice = param.type_descriptor.is_choice
        assert not shown or choice or not re.search(r"<|str|bool|int", shown), param.opts


def test_help_of_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    """A name as in the reference, without the underscore that Python needs."""
    assert run(["talos", "get", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "Usage: talops talos get [OPTIONS] {KIND} [ID]" in printed
    assert "  ID    Id of one resource." in printed
    assert "<" not in printed.partition("Options:")[0]


@pytest.mark.parametrize(
    ("path", "flag", "word"),
    [
        ("up", "--only", "STAGE"),
        ("up", "--nodes", "REGEX"),
        ("talos get", "--nodes", "A,B,…"),
        ("init", "--workers", "N"),
        ("talos health", "--workers", "A,B,…"),
        ("state migrate", "--from", "BACKEND"),
        ("state unlock", "--id", "TEXT"),
        ("state serve", "--store", "STORE"),
    ],
)
def test_words(path: str, flag: str, word: str) -> None:
    """The same flag may take different things in different commands."""
    command = dict(LEAVES)[path]
    assert next(p.metavar for p in command.params if flag in p.opts) == word
