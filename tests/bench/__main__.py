"""`make bench`: every figure that talops promises, measured in one run, with its bound.

Machines are noisy, so bounds are ratios within one run wherever that is possible. A bound that does
not hold makes the exit code 1. Names after the command choose: `python -m tests.bench inventory`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.bench.figure import Figure


def modules() -> list[str]:
    here = Path(__file__).parent
    return sorted(path.stem for path in here.glob("bench_*.py"))


def main(wanted: list[str]) -> int:
    kept = True
    for name in modules():
        if wanted and name.removeprefix("bench_") not in wanted:
            continue
        print(f"\n{name.removeprefix('bench_')}", flush=True)  # noqa: T201  (a report on stdout)
        figures: Callable[[], Iterator[Figure]] = import_module(f"tests.bench.{name}").figures
        for figure in figures():
            print(f"  {figure}", flush=True)  # noqa: T201
            kept = kept and figure.holds
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
