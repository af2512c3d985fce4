"""Options that several commands share, spelt once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


def _directory(ctx: typer.Context, value: Path | None) -> Path:
    return value or ctx.find_root().obj or Path.cwd()


Directory = Annotated[
    Path | None,
    typer.Option(
        "-C",
        "--directory",
        help="Work on the inventory in this directory.",
        callback=_directory,
        show_default="current directory",
    ),
]

Output = Annotated[
    Format, typer.Option("-o", "--output", help="How to print the result.", case_sensitive=False)
]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

AllowReplace = Annotated[
    list[str] | None,
    typer.Option("--allow-replace", metavar="NAME", help="This VM may be made anew; repeatable."),
]
AllowDestroy = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-destroy", metavar="NAME", help="This VM, or a disk of it, may go; repeatable."
    ),
]
