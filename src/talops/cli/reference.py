"""The documentation of the command line, generated from the commands."""

from __future__ import annotations

from typing import Any

from talops.cli.app import COMMANDS, build
from talops.cli.value_names import argument_name

INTRODUCTION = """\
# The command line

Results go to stdout, progress to stderr; every reading command supports `-o json`. Every flag can also be set as
`TALOPS_<FLAG>`; `--nodes` of `talops talos` as `TALOPS_TALOS_NODES`, of `talops lab` as `TALOPS_LAB_NODES`, because they name other things
than `--nodes` of `talops up`. `-C DIR` works before and after the command.

| exit code | meaning |
| --- | --- |
| 0 | done, or no differences |
| 1 | failed |
| 2 | differences found (`plan`, `drift`, `configure --check`, `up --dry-run`) |
| 3 | invalid inventory |
| 4 | preflight failed |
| 130 | interrupted |
"""


def cli_reference() -> str:
    root = build(list(COMMANDS))
    parts = [INTRODUCTION]
    for name, command in sorted(root.commands.items()):
        parts += _command(f"talops {name}", command)
    return "\n".join(parts)


def leaves(path: str, command: Any) -> list[tuple[str, Any]]:
    """Every command with its full path."""
    children = getattr(command, "commands", None)
    if not children:
        return [(path, command)]
    return [
        leaf for name, child in sorted(children.items()) for leaf in leaves(f"{path} {name}", child)
    ]


def _command(path: str, command: Any) -> list[str]:
    parts = (
        [f"## {path}\n\n{(command.help or '').strip()}\n"]
        if getattr(command, "commands", None)
        else []
    )
    for name, leaf in leaves(path, command):
        level = "###" if parts else "##"
        parts.append(f"{level} {name}\n\n{(leaf.help or '').strip()}\n")
        rows = [row for param in leaf.params if (row := _row(param))]
        if rows:
            parts.append("\n".join(["| flag | |", "| --- | --- |", *rows]) + "\n")
    return parts


def _row(param: Any) -> str | None:
    if getattr(param, "hidden", False) or "--help" in param.opts:
        return None
    names = ", ".join(f"`{name}`" for name in [*param.opts, *param.secondary_opts])
    if param.param_type_name == "argument":
        names = f"`{argument_name(param)}`"
    text = (getattr(param, "help", None) or "").replace("|", "\\|")
    return f"| {names} | {text} |"
