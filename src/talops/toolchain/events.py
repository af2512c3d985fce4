"""Events while a tool is installed."""

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
    """`done` of `total` bytes or packages; `total` is 0 while unknown."""

    tool: str
    step: str
    done: int
    total: int
    detail: str = ""


@dataclass(frozen=True)
class ToolSkipped(Event):
    """A source of the tool that failed; the next one is tried."""

    tool: str
    step: str
    reason: str


@dataclass(frozen=True)
class ToolWaiting(Event):
    """Another process is installing the same tool."""

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
