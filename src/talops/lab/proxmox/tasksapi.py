"""Tasks: list, status, log, stop."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.call import Answer
from talops.lab.proxmox.errors import invalid
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema.formats import split_list

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.tasks import TaskRecord

UPID = re.compile(
    r"UPID:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?:[0-9A-Fa-f]{8}:[0-9A-Fa-f]{8,9}"
    r":[0-9A-Fa-f]{8}:[^:\s]+:[^:\s]*:[^:\s]+:"
)
LISTED = 50


def _known(call: Call) -> TaskRecord | None:
    if not UPID.fullmatch(call.params["upid"]):
        raise invalid({"upid": "unable to parse worker upid"})
    return call.pve.tasks.table.get(call.params["upid"])


def _task(call: Call) -> TaskRecord:
    task = _known(call)
    if task is None:
        raise invalid({"upid": "no such task"})
    _need_own(call, task.user, "Sys.Audit")
    return task


def _need_own(call: Call, user: str, privilege: str) -> None:
    if not _own(call, user):
        call.need(f"/nodes/{call.node}", privilege)


def _own(call: Call, user: str) -> bool:
    """A user sees what their tokens do; a token sees only its own."""
    return call.user in {user, user.split("!", maxsplit=1)[0]}


@route("GET", "/nodes/{node}/tasks/{upid}")
def task_index(_: Call) -> list[dict[str, str]]:
    return [{"name": "log"}, {"name": "status"}]


@route("GET", "/nodes/{node}/tasks/{upid}/status")
def task_status(call: Call) -> dict[str, Any]:
    return _task(call).status()


@route("GET", "/nodes/{node}/tasks/{upid}/log")
def task_log(call: Call) -> Answer:
    if _known(call) is None:
        _need_own(call, call.params["upid"].split(":")[-2], "Sys.Audit")
        return Answer(
            [{"n": 1, "t": "unable to open file - No such file or directory"}], {"total": 1}
        )
    lines = _task(call).log or ["no content"]
    start, limit = call.get("start", 0), call.get("limit", LISTED) or len(lines)
    rows = [
        {"n": number, "t": line}
        for number, line in enumerate(lines, 1)
        if start < number <= start + limit
    ]
    return Answer(rows, {"total": len(lines)})


@route("DELETE", "/nodes/{node}/tasks/{upid}")
def stop_task(call: Call) -> None:
    task = _known(call)
    if task is None:
        raise invalid({"upid": "no such task"})
    _need_own(call, task.user, "Sys.Modify")
    call.pve.tasks.stop_task(task.upid)


@route("GET", "/cluster/tasks")
def cluster_tasks(call: Call) -> list[dict[str, Any]]:
    """The latest tasks of all nodes, with the running ones."""
    tasks = sorted(call.pve.tasks.table.values(), key=lambda task: -task.pid)
    every = call.may("/", "Sys.Audit")
    seen = [task for task in tasks if every or task.user.split("!")[0] == call.user]
    return [_row(task) for task in seen[:LISTED]]


def _row(task: TaskRecord, running: str = "") -> dict[str, Any]:
    row = task.status()
    row.pop("status")
    row.pop("exitstatus", None)
    status = task.exitstatus or running
    row |= {"status": status} if status else {}
    return {**row, "endtime": task.endtime} if task.endtime else row


@route("GET", "/nodes/{node}/tasks")
def list_tasks(call: Call) -> Answer:
    """Without `source` only those that have ended."""
    source = call.get("source", "archive")
    audit = call.may(f"/nodes/{call.node}", "Sys.Audit")
    found = [
        task
        for task in sorted(
            call.pve.tasks.table.values(), key=lambda t: (t.exitstatus != "", -t.pid)
        )
        if task.node == call.node
        and (audit or _own(call, task.user))
        and source in {"all", "archive" if task.exitstatus else "active"}
        and _wanted(call, task)
    ]
    start = call.get("start", 0)
    rows = [_row(task, "RUNNING") for task in found[start : start + call.get("limit", LISTED)]]
    return Answer(rows, {"total": len(found)} if found else {})


def _wanted(call: Call, task: TaskRecord) -> bool:
    kinds = set(split_list(str(call.get("statusfilter", "")))) or {"ok", "warning", "error"}
    if call.get("errors"):
        kinds = {"warning", "error"}
    kind = {"OK": "ok", "": "ok"}.get(task.exitstatus)
    kind = kind or ("warning" if task.exitstatus.startswith("WARNINGS") else "error")
    return (
        kind in kinds
        and call.get("vmid") in {None, int(task.subject) if task.subject.isdigit() else -1}
        and call.get("typefilter") in {None, task.kind}
        and str(call.get("userfilter", "")).lower() in task.user.lower()
        and task.starttime >= call.get("since", 0)
        and task.starttime <= call.get("until", task.starttime)
    )
