"""One requested run: its workflow, its options, its confirmation and its record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.pipeline.history import KEEP
from talops.pipeline.lease import Fence
from talops.pipeline.runner import Options
from talops.redaction import Redactor

if TYPE_CHECKING:
    from pathlib import Path

    from talops.pipeline.lock import SharedLock
    from talops.pipeline.record import Record
    from talops.pipeline.result import RunResult
    from talops.pipeline.stage import AnyStage

BuildStages = Callable[["Record"], Sequence["AnyStage"]]
NextCommands = Callable[["RunResult"], Iterable[str]]


def _nothing(_: RunResult) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class Consent:
    """The confirmation that a plan requires; `given` if an option gave it in advance."""

    # The command that does not ask for confirmation.
    hint: str = ""
    given: bool = False
    # To destroy something permanently, the user types its `name`; `what` describes the effect.
    name: str = ""
    what: str = ""


@dataclass(frozen=True)
class Run:
    """`options` is the part that the runner itself reads."""

    command: str
    cluster: str
    # The directory that contains `.talops`: the directory of the inventory.
    root: Path
    build: BuildStages
    options: Options = field(default_factory=Options)
    consent: Consent = field(default_factory=Consent)
    inventory: Sequence[Path] = ()
    tools: Mapping[str, str] = field(default_factory=dict)
    redact: Redactor = field(default_factory=Redactor)
    shared: SharedLock | None = None
    fence: Fence = field(default_factory=Fence)
    keep: int = KEEP
    next_commands: NextCommands = _nothing
