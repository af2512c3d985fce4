"""Talos runs on every node and reports that it is ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.pipeline.checks import failed, from_error, passed
from talops.plural import count
from talops.site.connections import errors_of, values_of
from talops.talos.kinds import MACHINE_ID, MACHINE_STATUS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.pipeline.checks import Finding
    from talops.site.connections import Connections
    from talops.talos.kinds import MachineStatus


async def look(connections: Connections) -> list[Finding]:
    answers = await connections.ask(
        connections.site.cluster.nodes,
        lambda talos: talos.resources.find(MACHINE_STATUS, MACHINE_ID),
    )
    return [from_error(error) for error in errors_of(answers).values()] + judge(values_of(answers))


def judge(statuses: Mapping[str, MachineStatus | None]) -> list[Finding]:
    found: list[Finding] = []
    for name, status in statuses.items():
        hint = "talops talos health"
        if status is None:
            found.append(failed(f"Talos on {name} reports no machine status yet", hint=hint))
        elif status.stage != "running":
            found.append(failed(f"Talos on {name} is {status.stage}", hint=hint))
        elif not status.ready:
            why = status.reasons or "no reason given"
            found.append(failed(f"Talos on {name} is not ready: {why}", hint=hint))
    if statuses and not found:
        found.append(passed(f"Talos runs and is ready on {count(len(statuses), 'node')}"))
    return found
