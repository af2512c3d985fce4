"""The help: commands in groups, whole summaries, environment variables only with `--verbose`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

HELP = {"-h", "--help"}
VERBOSE = "--verbose"
# Panel → commands, in the order of the help.
PANELS = {
    "Start": ("init", "import", "check", "schema", "inventory", "configure", "preflight"),
    "Run": (
        *("plan", "up", "verify", "replace", "retemplate", "down", "reset", "recover"),
        "adopt",
    ),
    "Day 2": (
        *("versions", "upgrade", "rollback", "drift", "pause", "resume"),
        *("backup", "certificates", "access", "rotate", "secrets", "gitops", "state"),
        *("export", "support"),
    ),
    "Look": ("status", "analyze", "runs", "web", "doctor"),
    "Parts": ("infra", "host", "template", "talos", "tools", "lab"),
}


class Grouped(TyperGroup):
    """A group whose plain help has the same panels as the help on a terminal."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section per panel."""
        names = self.list_commands(ctx)
        panels = [panel for panel in PANELS if any(_panel(self, name) == panel for name in names)]
        for panel in panels:
            rows = [
                (name, self.commands[name].get_short_help_str())
                for name in names
                if _panel(self, name) == panel
            ]
            with formatter.section(panel):
                formatter.write_dl(rows)

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of the panels."""
        del ctx
        return [name for names in PANELS.values() for name in names if name in self.commands]


def _panel(group: TyperGroup, name: str) -> str | None:
    return getattr(group.commands[name], "rich_help_panel", None)


def group_commands(root: Any) -> None:
    """Assign each command of `talops` to its panel."""
    for panel, names in PANELS.items():
        for name in names:
            if name in root.commands:
                root.commands[name].rich_help_panel = panel


def prepare_help(command: Any, *, verbose: bool) -> None:
    """Keep summaries whole, and hide the environment variables unless they are requested."""
    command.short_help = " ".join((command.help or "").strip().split("\n\n")[0].split())
    for param in command.params:
        param.show_envvar = verbose
    for child in getattr(command, "commands", {}).values():
        prepare_help(child, verbose=verbose)


def asks_for_variables(argv: list[str]) -> bool:
    """True for `--help --verbose`, which is not an option of any command itself."""
    own = argv[: argv.index("--")] if "--" in argv else argv
    return VERBOSE in own and bool(HELP & set(own))
