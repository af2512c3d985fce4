"""What installing a tool tells while it goes on."""

from __future__ import annotations

from dataclasses import dataclass

from talops.events import Event


@dataclass(frozen=True)
class ToolStarted(Event):
    """`step` is download or build."""

    tool: str
    version: str
    step: str


@dataclass(frozen=True)
class ToolProgress(Event):
    """`done` of `total` bytes or packages; `total` 0 while it is unknown."""

    tool: str
    step: str
    done: int
    total: int
    detail: str = ""


@dataclass(frozen=True)
class ToolSkipped(Event):
    """A way to the tool that did not work; the next one is tried."""

    tool: str
    step: str
    reason: str


@dataclass(frozen=True)
class ToolWaiting(Event):
    """Another process installs the same tool."""

    tool: str
    seconds: int


@dataclass(frozen=True)
class ToolReady(Event):
    """`origin` is path, cache, release or build."""

    tool: str
    version: str
    origin: str
    path: str
    seconds: float = 0
