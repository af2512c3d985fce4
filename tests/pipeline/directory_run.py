"""A run over a directory that kills itself after the event it is told: the crash matrix' subject.

python directory_run.py <root> <seed> [kill after event N]
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import NotReadyError
from talops.files import write_atomic
from talops.pipeline.record import Record, run_recorded
from talops.pipeline.run import Run
from talops.pipeline.stage import Absent, Change, Reporter, Stage
from talops.redaction import Redactor, Secret

if TYPE_CHECKING:
    from talops.events import Event

SECRET = "a-token-that-must-not-be-found"


class Files(Stage[set[str], Change]):
    """Creates files in a directory; the identity in them is drawn once and must never change."""

    def __init__(self, name: str, root: Path, goals: list[str], needs: str | None) -> None:
        self.name, self.root, self.goals, self.needs = name, root, goals, needs
        self.report: Reporter | None = None

    def path(self, goal: str) -> Path:
        return self.root / "world" / f"{self.name}-{goal}"

    async def observe(self) -> set[str] | Absent:
        if self.needs and not list((self.root / "world").glob(f"{self.needs}-*")):
            return Absent(self.needs, "no files yet")
        return {goal for goal in self.goals if self.path(goal).exists()}

    def plan(self, facts: set[str]) -> list[Change]:
        return [Change("create", goal) for goal in self.goals if goal not in facts]

    async def apply(self, change: Change) -> None:
        assert self.report
        self.report.log(f"using {SECRET}")
        with (self.root / "made.log").open("a") as file:
            file.write(f"{self.name}-{change.target}\n")
        write_atomic(self.path(change.target), f"{random.SystemRandom().random()}\n")

    async def verify(self, _: object, /) -> None:
        if not all(self.path(goal).exists() for goal in self.goals):
            raise NotReadyError("files are missing")


def stages(root: Path, seed: int) -> list[Files]:
    draw = random.Random(seed)
    names = ["images", "provision", "bootstrap"]
    return [
        Files(name, root, [f"g{i}" for i in range(draw.randint(1, 3))], needs)
        for name, needs in zip(names, [None, *names], strict=False)
    ]


async def main(root: Path, seed: int, kill_after: int | None) -> int:
    count = 0

    def view(event: Event) -> None:
        nonlocal count
        count += 1
        if count == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)

    def build(recorder: Record) -> list[Files]:
        made = stages(root, seed)
        for stage in made:
            stage.report = Reporter(stage.name, recorder.emit)
        return made

    run = Run("up", "demo", root, build, redact=Redactor([Secret(SECRET)]))
    result = await run_recorded(run, view=view)
    sys.stdout.write(f"{result.status} {count}\n")
    return result.exit_code


if __name__ == "__main__":
    words = sys.argv[1:]
    end = int(words[2]) if len(words) > 2 else None
    sys.exit(asyncio.run(main(Path(words[0]), int(words[1]), end)))
