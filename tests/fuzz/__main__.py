"""python -m tests.fuzz TARGET --seed S --first N --count M: also how a finding is repeated."""

from __future__ import annotations

import argparse
import faulthandler
import mmap
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Self

from tests.fuzz import campaign
from tests.fuzz.targets import TARGETS

# No batch needs a part of this; a case that does not end does.
CPU_SECONDS = 3000
ADDRESS_SPACE = 2 << 30
MOST_SHOWN = 10


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--progress", type=Path, help="File that always holds the current number.")
    chosen = parser.parse_args()
    _limit()
    began = time.monotonic()
    target = TARGETS[chosen.target]()
    numbers = range(chosen.first, chosen.first + chosen.count)
    try:
        with Progress(chosen.progress) as at:
            found = campaign.run(chosen.target, target, chosen.seed, numbers, at)
    finally:
        target.close()
    for each in found[:MOST_SHOWN]:
        again = f"python -m tests.fuzz {chosen.target} --seed {chosen.seed} --first {each.number}"
        _say(f"case {each.number}: {each.what}\n{each.case!r:.2000}\nrepeat: {again}")
    seconds = time.monotonic() - began
    _say(f"{chosen.target}: {chosen.count} cases, {len(found)} findings, {seconds:.1f} s")
    return 1 if found else 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _limit() -> None:
    """A case that hangs or grows ends the process, which says where it was."""
    faulthandler.enable()
    faulthandler.register(signal.SIGXCPU, chain=True)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


class Progress:
    """Eight bytes that another process can read, whatever becomes of this one."""

    def __init__(self, path: Path | None) -> None:
        self._map = None
        if path:
            path.write_bytes(bytes(8))
            with path.open("r+b") as file:
                self._map = mmap.mmap(file.fileno(), 8)

    def __enter__(self) -> Self:
        return self

    def __call__(self, number: int) -> None:
        if self._map:
            self._map[:8] = number.to_bytes(8)

    def __exit__(self, *_: object) -> None:
        if self._map:
            self._map.close()


if __name__ == "__main__":
    sys.exit(main())
