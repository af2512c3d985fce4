"""Print the check results of `verify` and `preflight`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.output import print_json
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.pipeline.checks import CheckResult

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


class CheckFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"


CheckOutput = Annotated[
    CheckFormat,
    typer.Option(
        "-o", "--output", help="Output format: text, json or junit.", case_sensitive=False
    ),
]


def seconds(text: str) -> float:
    """90, 90s, 10m, 1h30m."""
    if text.isdigit():
        return float(text)
    found = _DURATION.fullmatch(text)
    if not text or found is None:
        raise TalopsError(f"{text!r} is not a duration", hint="write it like 90s, 10m or 1h30m")
    hours, minutes, rest = (int(part or 0) for part in found.groups())
    return float(hours * 3600 + minutes * 60 + rest)


def show(results: Sequence[CheckResult], output: CheckFormat, *, suite: str) -> None:
    from talops.pipeline.checks import failures
    from talops.views.checks import check_lines
    from talops.views.junit import junit

    if output is CheckFormat.JSON:
        checks = [result.as_dict() for result in results]
        print_json({"version": 1, "passed": not failures(results), "checks": checks})
    elif output is CheckFormat.JUNIT:
        typer.echo(junit(results, suite=suite), nl=False)
    else:
        typer.echo("\n".join(check_lines(results)))
