"""Report OpenTofu resources as parts of a stage: current actions, and the status of each VM."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from talops.events import PartProgress
from talops.tofu.events import DOING, ResourceChange

if TYPE_CHECKING:
    from talops.events import Event
    from talops.pipeline.stage import Reporter

MADE = ("create", "complete")
PHASES = {"start": "start", "progress": "progress", "complete": "done", "error": "failed"}
_NODE = re.compile(r'module\.node\["([^"]+)"\]\.proxmox_virtual_environment_vm\.this')


def made_vm(event: Event) -> str | None:
    """The node whose VM was just created."""
    if not isinstance(event, ResourceChange) or (event.action, event.phase) != MADE:
        return None
    node = _NODE.fullmatch(event.address)
    return node[1] if node else None


class ResourceProgress:
    """Forward every event, and report those of resources as progress of the stage."""

    def __init__(self, report: Reporter) -> None:
        self._report = report

    def __call__(self, event: Event) -> None:
        self._report.event(event)
        if isinstance(event, ResourceChange) and event.action != "read":
            self._tell(event)

    def _tell(self, event: ResourceChange) -> None:
        doing, phase = DOING.get(event.action, event.action), PHASES[event.phase]
        node = _NODE.fullmatch(event.address)
        part = f"VM {node[1]}" if node else event.address
        self._report.event(
            PartProgress(self._report.stage, part, doing, phase, float(event.seconds))
        )
        if node:
            self._report.node(node[1], vm=self._state(event.action, doing, phase))

    def _state(self, action: str, doing: str, phase: str) -> str:
        if phase == "failed":
            return "failed"
        if phase != "done":
            return doing
        return "destroyed" if action == "delete" else "running"
