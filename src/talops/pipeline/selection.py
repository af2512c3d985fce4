"""Which stages of a workflow run: --only, --from, --until, --skip."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class Selection:
    """The four flags as typed; empty means every stage."""

    only: tuple[str, ...] = ()
    first: str | None = None
    last: str | None = None
    skip: tuple[str, ...] = ()


ALL = Selection()


def select(names: Sequence[str], wanted: Selection) -> dict[str, str]:
    """The skipped stages and why; any other stage runs."""
    _check_names(names, wanted)
    if wanted.only and (wanted.first or wanted.last):
        raise TalopsError("--only cannot be combined with --from or --until")
    start = names.index(wanted.first) if wanted.first else 0
    end = names.index(wanted.last) if wanted.last else len(names) - 1
    if start > end:
        raise TalopsError(
            f"--from {wanted.first} comes after --until {wanted.last}: no stage would run",
            hint=f"the order is {' → '.join(names)}",
        )
    left_out = {name: _why_not(name, i, start, end, wanted) for i, name in enumerate(names)}
    return {name: why for name, why in left_out.items() if why}


def _why_not(name: str, place: int, start: int, end: int, wanted: Selection) -> str:
    if name in wanted.skip:
        return "excluded by --skip"
    if wanted.only and name not in wanted.only:
        return f"not in --only {','.join(wanted.only)}"
    if place < start:
        return f"before --from {wanted.first}"
    if place > end:
        return f"after --until {wanted.last}"
    return ""


def _check_names(names: Sequence[str], wanted: Selection) -> None:
    typed: Iterable[str | None] = (*wanted.only, wanted.first, wanted.last, *wanted.skip)
    for name in typed:
        if name and name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            guess = f"did you mean {close[0]}? " if close else ""
            raise TalopsError(
                f"stage {name!r} does not exist", hint=f"{guess}stages: {', '.join(names)}"
            )
