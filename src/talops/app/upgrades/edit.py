"""Change a version in cluster.yaml; every other character stays. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.problems import Position

_VERSION = re.compile(r"""(?P<quote>["']?)v?\d+\.\d+\.\d+[-.a-z0-9]*(?P=quote)(?=\s|$)""")


def with_version(text: str, at: Position, version: str) -> str:
    """`at` is where the old version begins."""
    lines = text.splitlines(keepends=True)
    line = lines[at.line - 1] if 0 < at.line <= len(lines) else ""
    found = _VERSION.match(line, max(0, at.column - 1))
    if found is None:
        raise TalopsError(
            f"there is not a plain version that could be changed to {version}",
            where=str(at),
            hint=f"write {version} there, then: talops up",
        )
    quote = found["quote"]
    lines[at.line - 1] = f"{line[: found.start()]}{quote}{version}{quote}{line[found.end() :]}"
    return "".join(lines)
