"""Stages that act on nothing: every call they would make outside is written down."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from talops.pipeline.stage import Change, Reporter, Stage

if TYPE_CHECKING:
    import random
    from collections.abc import Generator

# Words of today's texts, the ones that once decided among them, and some that mean something else.
WORDS = [
    "alone",
    "wipe;",
    "etcd",
    "ends",
    "with",
    "it",
    "drain",
    "leave",
    "and",
    "without",
    "leaving",
    "reboots",
    "reboot",
    "no",
    "change",
    "first",
    "config:",
    "from",
    "again",
    "empty:",
    "tainted",
    "missing",
    "found",
    "restore",
    "objects",
    "schematic",
    "nothing",
]
SILENT = Reporter("reworded", lambda _: None)

Log = list[tuple[str, ...]]


class Traced:
    """Stands for whatever a stage acts on: keeps every call, and answers with itself."""

    def __init__(self, log: Log, path: str) -> None:
        self._log = log
        self._path = path

    def __getattr__(self, name: str) -> Traced:
        return Traced(self._log, f"{self._path}.{name}")

    def __call__(self, *args: object, **named: object) -> Traced:
        words = [plain(arg) for arg in args]
        words += [f"{name}={plain(value)}" for name, value in named.items()]
        self._log.append((self._path, *words))
        return self

    def __await__(self) -> Generator[None, None, Traced]:
        yield from ()
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...


def plain(value: object) -> str:
    """What can be compared between two runs; a change is what it does, not what it says."""
    if isinstance(value, Change):
        return str(replace(value, detail=""))
    if isinstance(value, Traced):
        return "…"
    if isinstance(value, dict):
        return f"{sorted(value)}"  # some hold the time of day
    if value is None or isinstance(value, str | int | bool | tuple):
        return repr(value)
    return str(getattr(value, "name", None) or getattr(value, "__name__", type(value).__name__))


@dataclass(frozen=True)
class Scene:
    """A stage, and facts for which it has something to do."""

    stage: Stage[Any, Any]
    facts: Any


def reworded(change: Change, rng: random.Random) -> Change:
    return replace(change, detail=" ".join(rng.choices(WORDS, k=rng.randint(0, 6))))


async def acted(scene: Scene, log: Log, rng: random.Random | None) -> Log:
    """What the stage does when its changes are applied, each said in other words if `rng`."""
    log.clear()
    for change in scene.stage.plan(scene.facts):
        await scene.stage.apply(reworded(change, rng) if rng else change)
    return list(log)
