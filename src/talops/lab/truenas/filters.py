"""query-filters and query-options, as far as the lab's methods need them."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

from talops.lab.truenas.errors import CallError, ValidationErrors

if TYPE_CHECKING:
    from collections.abc import Callable

Entry = dict[str, Any]

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda have, want: have == want,
    "!=": lambda have, want: have != want,
    "in": lambda have, want: have in want,
    "nin": lambda have, want: have not in want,
    "^": lambda have, want: str(have).startswith(want),
    "$": lambda have, want: str(have).endswith(want),
}


def apply_filters(rows: list[Entry], filters: Any, options: Any) -> Any:
    for row in filters or []:
        if not isinstance(row, list) or len(row) != 3 or row[1] not in OPERATORS:  # noqa: PLR2004  (name, operator, value)
            raise ValidationErrors(("query-filters", f"Invalid filter {row!r}", errno.EINVAL))
        name, operator, value = row
        rows = [entry for entry in rows if OPERATORS[operator](entry.get(name), value)]
    wanted = options or {}
    if wanted.get("count"):
        return len(rows)
    if wanted.get("get"):
        if not rows:
            raise CallError("MatchNotFound()", errno.EINVAL)
        return rows[0]
    start = int(wanted.get("offset") or 0)
    limit = int(wanted.get("limit") or 0)
    return rows[start : start + limit if limit else None]
