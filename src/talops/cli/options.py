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
