"""Help speaks of what a flag takes, never of Python's types."""

from __future__ import annotations

from typing import Any

import pytest

from talops.cli.app import COMMANDS, build
from talops.cli.reference import leaves

ROOT = build(list(COMMANDS))
LEAVES = [leaf for name, command in ROOT.commands.items() for leaf in leaves(name, command)]


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=[path for path, _ in LEAVES])
def test_no_type_is_shown(path: str, command: Any) -> None:
    """Neither `<str>` nor `<list[str]>` nor `<int range>` in the options of any command."""
    for param in command.params:
        if param.param_type_name == "option" and not param.is_flag:
            annotation = str(param.type_descriptor.annotation)
            assert param.metavar or "enum" in annotation or "cli" in annotation, (path, param.opts)


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
