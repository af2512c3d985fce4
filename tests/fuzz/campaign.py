"""Runs many cases of a target; each is made from a seed and its number alone.

A case passes if it ends, in an answer or in an error of talops, and if nothing of it that is shown
controls a terminal. What else happens is a finding, with the command that repeats it.
"""

from __future__ import annotations

import contextlib
import io
import random
import resource
import sys
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from talops.cli.output import note, print_error
from talops.cli.streams import plain_streams
from talops.errors import TalopsError
from talops.visible import CONTROL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MEBIBYTE = 1 << 20
# What a batch may need in addition to what the process had after its first cases.
MOST_GROWTH = 400 * MEBIBYTE
WARM = 50


class Target(Protocol):
    """One parser or client under attack."""

    def make(self, rng: random.Random) -> Any:
        """A case, as plain data and bytes."""
        ...

    def run(self, case: Any) -> Iterable[object]:
        """Use the case as the product would; the results are shown."""
        ...

    def close(self) -> None: ...


class WrongError(Exception):
    """A target saw something that must not happen."""


@dataclass(frozen=True)
class Finding:
    number: int
    case: Any
    what: str


def case_of(target: Target, name: str, seed: str, number: int) -> Any:
    return target.make(random.Random(f"{seed}:{name}:{number}"))


def attempt(target: Target, case: Any) -> str:
    """'' or what went wrong."""
    try:
        shown = _shown(target, case)
    except Exception:  # noqa: BLE001  (whatever it is, it is a finding)
        return traceback.format_exc()
    if found := CONTROL.search(shown):
        around = shown[max(0, found.start() - 60) : found.end() + 20]
        return f"the control character {found[0]!r} reaches the terminal: {around!r}"
    return ""


def _shown(target: Target, case: Any) -> str:
    """Everything that a command would print, on its way through the streams of the command line."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), plain_streams():
        try:
            for each in target.run(case):
                note(str(each))
        except TalopsError as error:
            print_error(error)
    return out.getvalue()


def run(
    name: str,
    target: Target,
    seed: str,
    numbers: range,
    at: Callable[[int], None] = lambda _: None,
) -> list[Finding]:
    """All cases of these numbers; `at` is told each number before it runs."""
    found: list[Finding] = []
    before = 0
    for number in numbers:
        at(number)
        case = case_of(target, name, seed, number)
        if what := attempt(target, case):
            found.append(Finding(number, case, what))
        if number - numbers.start == WARM:
            before = _peak()
    if before and (growth := _peak() - before) > MOST_GROWTH:
        what = f"the batch needed {growth // MEBIBYTE} MiB more than its first cases"
        found.append(Finding(numbers.stop - 1, None, what))
    return found


def _peak() -> int:
    factor = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * factor
