"""The commands, and the one place that turns an error into a message and an exit code."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from talops import __version__
from talops.cli.extras import missing_extra
from talops.cli.help import (
    VERBOSE,
    Grouped,
    asks_for_variables,
    group_commands,
    prepare_help,
)
from talops.cli.output import print_error, print_usage
from talops.cli.streams import plain_streams
from talops.cli.value_names import name_values
from talops.errors import TalopsError

# Name → module with `register(root)`. Only the module of the command that was typed is imported,
# so that `talops check` does not load a gRPC stack.
COMMANDS: dict[str, str] = {
    "init": "talops.cli.init",
    "import": "talops.cli.moving.imports",
    "export": "talops.cli.moving.export",
    "check": "talops.cli.look.check",
    "schema": "talops.cli.look.schema",
    "inventory": "talops.cli.look.inventory",
    "configure": "talops.cli.configure",
    "up": "talops.cli.up",
    "upgrade": "talops.cli.upgrade",
    "rollback": "talops.cli.rollback",
    "down": "talops.cli.down",
    "reset": "talops.cli.reset",
    "replace": "talops.cli.replace",
    "retemplate": "talops.cli.host.retemplate",
    "recover": "talops.cli.recover",
    "adopt": "talops.cli.moving.adopt",
    "pause": "talops.cli.pause",
    "resume": "talops.cli.resume",
    "preflight": "talops.cli.look.preflight",
    "verify": "talops.cli.look.verify",
    "plan": "talops.cli.look.plan",
    "status": "talops.cli.look.status",
    "drift": "talops.cli.look.drift",
    "versions": "talops.cli.look.versions",
    "analyze": "talops.cli.look.analyze",
    "web": "talops.cli.look.web",
    "runs": "talops.cli.look.runs",
    "support": "talops.cli.look.support",
    "certificates": "talops.cli.access.certificates",
    "access": "talops.cli.access.grants",
    "backup": "talops.cli.backup.commands",
    "rotate": "talops.cli.access.rotate",
    "secrets": "talops.cli.secrets.commands",
    "gitops": "talops.cli.gitops",
    "talos": "talops.cli.talos.commands",
    "tools": "talops.cli.tools.commands",
    "doctor": "talops.cli.tools.doctor",
    "state": "talops.cli.state.commands",
    "lab": "talops.cli.lab.commands",
    "infra": "talops.cli.infra.commands",
    "host": "talops.cli.host.commands",
    "template": "talops.cli.host.template",
}


def _root(
    ctx: typer.Context,
    directory: Annotated[
        Path | None,
        typer.Option("-C", "--directory", help="Directory of the inventory."),
    ] = None,
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False,
) -> None:
    """Create and operate Talos clusters on Proxmox VE from cluster.yaml and nodes.yaml."""
    ctx.obj = directory
    if version:
        typer.echo(f"talops {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit


def _needed(argv: list[str]) -> list[str]:
    typed = next((word for word in argv if word in COMMANDS), None)
    return [typed] if typed else list(COMMANDS)


def _name_environment(command: Any) -> None:
    """Give every flag its TALOPS_<FLAG> variable, once for all options."""
    for param in command.params:
        flags = [name for name in param.opts if name.startswith("--")]
        if flags and not param.envvar and flags[0] not in {"--help", "--version"}:
            param.envvar = "TALOPS_" + flags[0].removeprefix("--").replace("-", "_").upper()
    for child in getattr(command, "commands", {}).values():
        _name_environment(child)


def build(names: list[str], *, verbose: bool = False) -> Any:
    """Build the command tree with the named commands."""
    root = typer.Typer(
        name="talops",
        cls=Grouped,
        epilog="Add --verbose to --help to show the environment variable of each option.",
        add_completion=len(names) == len(COMMANDS),
        no_args_is_help=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None if not sys.stdout.isatty() else "rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    root.callback(invoke_without_command=True)(_root)
    for name in names:
        import_module(COMMANDS[name]).register(root)
    command = typer.main.get_command(root)
    _name_environment(command)
    name_values(command)
    group_commands(command)
    prepare_help(command, verbose=verbose)
    return command


def run(argv: list[str]) -> int:
    with plain_streams():
        return _run(argv)


def _run(argv: list[str]) -> int:
    verbose = asks_for_variables(argv)
    if verbose:
        argv = [word for word in argv if word != VERBOSE]
    try:
        command = build(_needed(argv), verbose=verbose)
        result = command.main(argv, prog_name="talops", standalone_mode=False)
    except TalopsError as error:
        print_error(error)
        return error.exit_code
    except ModuleNotFoundError as error:
        if (known := missing_extra(error, _needed(argv))) is None:
            raise
        print_error(known)
        return known.exit_code
    except TyperException as error:  # a mistyped flag: its usual exit code 2 means "differences"
        print_usage(error)
        return 1
    except (typer.Abort, KeyboardInterrupt, asyncio.CancelledError):
        typer.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:  # `talops … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return result if isinstance(result, int) else 0
