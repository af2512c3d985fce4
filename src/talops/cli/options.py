"""Options that several commands share."""

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
        help="Directory of the inventory.",
        callback=_directory,
        show_default="current directory",
    ),
]

Output = Annotated[
    Format, typer.Option("-o", "--output", help="Output format.", case_sensitive=False)
]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]

AllowReplace = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-replace", metavar="NAME", help="Allow this VM to be replaced; repeatable."
    ),
]
AllowDestroy = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-destroy",
        metavar="NAME",
        help="Allow this VM or one of its disks to be destroyed; repeatable.",
    ),
]
