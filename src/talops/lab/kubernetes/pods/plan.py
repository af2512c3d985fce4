"""What is known in advance of a pod in the lab: how long its containers start, run and stop.

The lab starts no program. Containers of a Job end after a time, all others run until they are
stopped; annotations (`talops.lab/…`) and the commands `false` and `exit N` say otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

Pod = dict[str, Any]
PREFIX = "talops.lab/"
READY_AFTER, STOPS_AFTER = f"{PREFIX}ready-after", f"{PREFIX}stops-after"
RUNS_FOR, EXIT_CODE = f"{PREFIX}runs-for", f"{PREFIX}exit-code"
MIRROR = "kubernetes.io/config.mirror"
_NEVER = "never"
_EXIT = re.compile(r"\bexit (\d+)\b")
_TERMINAL = {"Succeeded", "Failed"}


@dataclass(frozen=True)
class Plan:
    """In seconds. Without `ready_after` it never becomes ready, without `runs_for` it never ends.

    `stops_after` is how long it takes to end when it is asked to; the grace period limits it.
    """

    ready_after: float | None
    stops_after: float
    runs_for: float | None = None
    exit_code: int = 0


def plan(pod: Pod, *, start: float, stop: float) -> Plan:
    """`start` and `stop` are what pods take that say nothing about it."""
    notes = pod["metadata"].get("annotations") or {}
    ready = notes.get(READY_AFTER)
    ends = pod["spec"].get("restartPolicy") != "Always"
    runs = notes.get(RUNS_FOR, start) if ends else None
    return Plan(
        ready_after=None if ready == _NEVER else _seconds(ready, start),
        stops_after=_seconds(notes.get(STOPS_AFTER), stop),
        runs_for=None if runs is None else _seconds(runs, start),
        exit_code=int(notes.get(EXIT_CODE, _exit_code(pod))),
    )


def _seconds(text: Any, otherwise: float) -> float:
    return otherwise if text is None else float(text)


def _exit_code(pod: Pod) -> int:
    words = [w for c in pod["spec"]["containers"] for w in _words(c)]
    if words and words[0].rpartition("/")[2] == "false":
        return 1
    found = _EXIT.search(" ".join(words))
    return int(found[1]) if found else 0


def _words(container: dict[str, Any]) -> list[str]:
    return [*(container.get("command") or ()), *(container.get("args") or ())]


def is_mirror(pod: Pod) -> bool:
    """A static pod's object in the API: its node runs it, whatever happens to the object."""
    return MIRROR in (pod["metadata"].get("annotations") or {})


def is_terminal(pod: Pod) -> bool:
    return (pod.get("status") or {}).get("phase") in _TERMINAL


def is_deleted(pod: Pod) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def grace(pod: Pod) -> float:
    """How long it may still run after its deletion."""
    return float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)


def is_ready(pod: Pod) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def claims(pod: Pod) -> tuple[str, ...]:
    """The names of its persistent volume claims."""
    volumes = pod["spec"].get("volumes") or ()
    found = ((v.get("persistentVolumeClaim") or {}).get("claimName") for v in volumes)
    return tuple(str(name) for name in found if name)
