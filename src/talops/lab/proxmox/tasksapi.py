"""Looking at tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import invalid
from talops.lab.proxmox.routing import route

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call


def _task(call: Call) -> Any:
    task = call.pve.tasks.table.get(call.params["upid"])
    if task is None:
        raise invalid({"upid": "no such task"})
    if task.user.split("!")[0] != call.user.split("!")[0]:
        call.need(f"/nodes/{task.node}", "Sys.Audit")
    return task


@route("GET", "/nodes/{node}/tasks/{upid}/status")
def task_status(call: Call) -> dict[str, Any]:
    status: dict[str, Any] = _task(call).status()
    return status


@route("GET", "/nodes/{node}/tasks/{upid}/log", "start:int:0.. limit:int:0.. download:bool")
def task_log(call: Call) -> list[dict[str, Any]]:
    lines = _task(call).log or ["no content"]
    start, limit = call.get("start", 0), call.get("limit", 50) or len(lines)
    return [
        {"n": number, "t": line}
        for number, line in enumerate(lines, 1)
        if start < number <= start + limit
    ]


@route("DELETE", "/nodes/{node}/tasks/{upid}")
def stop_task(call: Call) -> None:
    task = _task(call)
    if task.user.split("!")[0] != call.user.split("!")[0]:
        call.need(f"/nodes/{task.node}", "Sys.Modify")
    call.pve.tasks.stop_task(task.upid)


@route("GET", "/cluster/tasks")
@route(
    "GET",
    "/nodes/{node}/tasks",
    "vmid:int typefilter:str limit:int start:int errors:bool source:str",
)
def list_tasks(call: Call) -> list[dict[str, Any]]:
    rows = []
    for task in sorted(call.pve.tasks.table.values(), key=lambda t: -t.pid):
        if call.get("node") not in {None, task.node}:
            continue
        if call.get("vmid") not in {None, int(task.subject) if task.subject.isdigit() else -1}:
            continue
        if call.get("typefilter") not in {None, task.kind}:
            continue
        own = task.user.split("!")[0] == call.user.split("!")[0]
        if own or call.may(f"/nodes/{task.node}", "Sys.Audit"):
            row = task.status()
            row["status"] = row.pop("exitstatus", "running")
            rows.append({**row, "endtime": task.endtime} if task.endtime else row)
    start = call.get("start", 0)
    return rows[start : start + call.get("limit", 50)]
