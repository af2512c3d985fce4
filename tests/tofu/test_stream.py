"""Lines of the `-json` stream, as OpenTofu 1.12 and Terraform 1.11 print them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from talops.tofu import events as e
from talops.tofu.stream import parse

if TYPE_CHECKING:
    from talops.events import Event

RESOURCE = {"addr": 'module.node["cp-1"].x.this', "resource_type": "x", "resource_key": None}
ADDRESS = RESOURCE["addr"]


@pytest.mark.parametrize(
    ("message", "event"),
    [
        (
            {"type": "apply_start", "hook": {"resource": RESOURCE, "action": "create"}},
            e.ResourceChange("l", str(ADDRESS), "create", "start"),
        ),
        (
            {
                "type": "apply_progress",
                "hook": {"resource": RESOURCE, "action": "create", "elapsed_seconds": 10},
            },
            e.ResourceChange("l", str(ADDRESS), "create", "progress", 10),
        ),
        (
            {
                "type": "apply_complete",
                "hook": {"resource": RESOURCE, "action": "delete", "elapsed_seconds": 2},
            },
            e.ResourceChange("l", str(ADDRESS), "delete", "complete", 2),
        ),
        (
            {"type": "apply_errored", "hook": {"resource": RESOURCE, "action": "update"}},
            e.ResourceChange("l", str(ADDRESS), "update", "error"),
        ),
        (
            {"type": "refresh_start", "hook": {"resource": RESOURCE}},
            e.ResourceRefresh("l", str(ADDRESS), "start"),
        ),
        (
            {
                "type": "planned_change",
                "change": {"resource": RESOURCE, "action": "replace", "reason": "tainted"},
            },
            e.ResourcePlanned("l", str(ADDRESS), "replace", "tainted"),
        ),
        (
            {"type": "resource_drift", "change": {"resource": RESOURCE, "action": "update"}},
            e.ResourceDrifted("l", str(ADDRESS), "update"),
        ),
        (
            {
                "type": "change_summary",
                "changes": {"add": 1, "change": 2, "remove": 3, "operation": "plan"},
            },
            e.ChangeSummary("l", "plan", 1, 2, 3),
        ),
        (
            {
                "type": "diagnostic",
                "diagnostic": {
                    "severity": "error",
                    "summary": "no",
                    "detail": "really",
                    "address": "x.y",
                    "range": {"filename": "main.tf", "start": {"line": 4}},
                },
            },
            e.Diagnostic("l", "error", "no", "really", "x.y", "main.tf:4"),
        ),
        (
            {
                "type": "outputs",
                "outputs": {
                    "a": {"sensitive": False, "value": [1]},
                    "b": {"sensitive": True, "value": "never shown"},
                },
            },
            e.Outputs("l", {"a": [1], "b": None}),
        ),
        ({"type": "version", "@message": "OpenTofu 1.12.6"}, e.TofuLine("l", "OpenTofu 1.12.6")),
        ({"type": "from_the_future", "@message": "hello"}, e.TofuLine("l", "hello")),
    ],
)
def test_message(message: dict[str, Any], event: Event) -> None:
    """Each kind of message becomes the event of that kind."""
    assert parse("l", json.dumps(message)) == event


@pytest.mark.parametrize("line", ["Warning: something", "[1, 2]", '{"cut off', "null"])
def test_no_message(line: str) -> None:
    """A line that is not a message is kept as it is."""
    assert parse("l", line) == e.TofuLine("l", line)


def test_empty_line() -> None:
    """An empty line is nothing."""
    assert parse("l", "  ") is None
