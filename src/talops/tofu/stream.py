"""One line of `-json` output → one typed event. Pure; lines that are not JSON are kept as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from talops.tofu.events import (
    ChangeSummary,
    Diagnostic,
    Outputs,
    ResourceChange,
    ResourceDrifted,
    ResourcePlanned,
    ResourceRefresh,
    TofuLine,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.events import Event

PHASES = {
    "apply_start": "start",
    "apply_progress": "progress",
    "apply_complete": "complete",
    "apply_errored": "error",
}


def parse(layer: str, line: str) -> Event | None:
    """The event in a line; None for an empty line."""
    text = line.strip()
    if not text:
        return None
    try:
        message = json.loads(text)
    except ValueError:
        return TofuLine(layer, text)
    if not isinstance(message, dict):
        return TofuLine(layer, text)
    kind = str(message.get("type", ""))
    if kind in PHASES:
        return _change(layer, message, PHASES[kind])
    reader = READERS.get(kind, _line)
    return reader(layer, message)


def _address(part: dict[str, Any]) -> str:
    return str(part.get("resource", {}).get("addr", ""))


def _change(layer: str, message: dict[str, Any], phase: str) -> Event:
    hook = message.get("hook", {})
    seconds = float(hook.get("elapsed_seconds", 0))
    return ResourceChange(layer, _address(hook), str(hook.get("action", "")), phase, seconds)


def _refresh(layer: str, message: dict[str, Any]) -> Event:
    phase = "start" if message["type"].endswith("start") else "complete"
    return ResourceRefresh(layer, _address(message.get("hook", {})), phase)


def _planned(layer: str, message: dict[str, Any]) -> Event:
    change = message.get("change", {})
    reason = str(change.get("reason", ""))
    return ResourcePlanned(layer, _address(change), str(change.get("action", "")), reason)


def _drift(layer: str, message: dict[str, Any]) -> Event:
    change = message.get("change", {})
    return ResourceDrifted(layer, _address(change), str(change.get("action", "")))


def _summary(layer: str, message: dict[str, Any]) -> Event:
    counts = message.get("changes", {})
    return ChangeSummary(
        layer,
        str(counts.get("operation", "")),
        counts.get("add", 0),
        counts.get("change", 0),
        counts.get("remove", 0),
        counts.get("import", 0),
        counts.get("forget", 0),
    )


def _diagnostic(layer: str, message: dict[str, Any]) -> Event:
    return diagnostic(layer, message.get("diagnostic", {}))


def diagnostic(layer: str, found: dict[str, Any]) -> Diagnostic:
    """A diagnostic from the stream, `validate -json` or a failed `init`."""
    place = found.get("range") or {}
    line = place.get("start", {}).get("line")
    where = f"{place['filename']}:{line}" if place.get("filename") and line else ""
    return Diagnostic(
        layer,
        str(found.get("severity", "error")),
        str(found.get("summary", "")),
        str(found.get("detail", "")),
        str(found.get("address", "")),
        where,
    )


def _outputs(layer: str, message: dict[str, Any]) -> Event:
    values = {
        name: None if output.get("sensitive") else output.get("value")
        for name, output in message.get("outputs", {}).items()
    }
    return Outputs(layer, values)


def _line(layer: str, message: dict[str, Any]) -> Event:
    return TofuLine(layer, str(message.get("@message", message)))


READERS: dict[str, Callable[[str, dict[str, Any]], Event]] = {
    "refresh_start": _refresh,
    "refresh_complete": _refresh,
    "planned_change": _planned,
    "resource_drift": _drift,
    "change_summary": _summary,
    "diagnostic": _diagnostic,
    "outputs": _outputs,
}
