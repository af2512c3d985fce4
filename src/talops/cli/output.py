"""Results on stdout, everything else on stderr; colour only on a terminal."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from talops.cli.streams import own

PIPE_WIDTH = 250

if TYPE_CHECKING:
    from rich.console import Console
    from typer.exceptions import TyperException

    from talops.errors import TalopsError


def console(*, stderr: bool = False) -> Console:
    from talops.views.plain_console import PlainConsole

    stream = sys.stderr if stderr else sys.stdout
    # A pipe does not have a width: its reader needs whole values.
    width = None if stream.isatty() else PIPE_WIDTH
    # Values may look like markup, or like emoji: `BC:24:11:AB:AE:CE`.
    return PlainConsole(stderr=stderr, highlight=False, width=width, markup=False, emoji=False)


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def note(message: str) -> None:
    """One line of progress or advice, on stderr."""
    sys.stderr.write(message + "\n")


def print_error(error: TalopsError) -> None:
    colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    own(sys.stderr).write("\033[1;31merror:\033[0m" if colour else "error:")
    lines = [f" {error.what}"]
    if error.where:
        lines.append(f"  at:   {error.where}")
    if error.hint:
        lines.append(f"  next: {error.hint}")
    sys.stderr.write("\n".join(lines) + "\n")


def print_usage(error: TyperException) -> None:
    """A usage error, with Typer's message if it has one."""
    show = getattr(error, "show", None)
    if show:
        show()
    else:
        sys.stderr.write(f"error: {error.message}\n")
