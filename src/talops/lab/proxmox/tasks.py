"""Work that outlives its call: UPIDs, status, logs, warnings, and steps that can fail."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import PveError, failed
from talops.lab.proxmox.store import Table

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from talops.lab.faults import Faults
    from talops.lab.proxmox.clock import Clock
    from talops.lab.proxmox.store import Store

KEPT = 2000  # finished tasks that are remembered


@dataclass(frozen=True)
class TaskRecord:
    upid: str
    node: str
    kind: str
    subject: str
    user: str
    pid: int
    pstart: int
    starttime: int
    endtime: int = 0
    exitstatus: str = ""
    log: list[str] = field(default_factory=list)

    def status(self) -> dict[str, Any]:
        user, _, tokenid = self.user.partition("!")
        data: dict[str, Any] = {
            "upid": self.upid,
            "node": self.node,
            "pid": self.pid,
            "pstart": self.pstart,
            "starttime": self.starttime,
            "type": self.kind,
            "id": self.subject,
            "user": user,
            "status": "stopped" if self.exitstatus else "running",
        }
        if tokenid:
            data["tokenid"] = tokenid
        if self.exitstatus:
            data["exitstatus"] = self.exitstatus
        return data


class Task:
    """The interface of the work to its own task."""

    def __init__(self, tasks: Tasks, record: TaskRecord) -> None:
        self._tasks = tasks
        self.record = record
        self.warnings = 0

    def log(self, line: str) -> None:
        self.record.log.append(line)

    def warn(self, line: str) -> None:
        self.warnings += 1
        self.log(f"WARN: {line}")

    async def step(self, name: str, line: str = "") -> None:
        """The named point before a piece of work: takes time, and a fault can make it fail."""
        if line:
            self.log(line)
        await self._tasks.pass_step(self.record, name)


def _nothing() -> None:
    pass


class Tasks:
    def __init__(
        self, store: Store, clock: Clock, faults: Faults, *, host: str, pace: float
    ) -> None:
        self._store, self._clock, self._faults = store, clock, faults
        self._host, self._pace = host, pace
        self.table: Table[TaskRecord] = Table(store, "task", lambda body: TaskRecord(**body), vars)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._numbers = itertools.count(max((t.pid for t in self.table.values()), default=1000) + 1)
        self._interrupted()

    def _interrupted(self) -> None:
        """Tasks that were running when the host stopped never finish."""
        for task in self.table.values():
            if not task.exitstatus:
                ended = replace(task, endtime=task.starttime, exitstatus="unexpected status")
                self.table.put(task.upid, ended)

    def start(
        self,
        node: str,
        kind: str,
        subject: str,
        user: str,
        work: Callable[[Task], Awaitable[None]],
        undo: Callable[[], None] = _nothing,
    ) -> str:
        """`undo` releases what was reserved for the work, if any part of it fails."""
        now, pid = int(self._clock.now()), next(self._numbers)
        upid = f"UPID:{node}:{pid:08X}:{pid * 7:08X}:{now:08X}:{kind}:{subject}:{user}:"
        record = TaskRecord(upid, node, kind, subject, user, pid, pid * 7, now)
        self.table.put(upid, record)
        self._running[upid] = asyncio.create_task(self._run(Task(self, record), work, undo))
        self._prune()
        return upid

    async def _run(
        self, task: Task, work: Callable[[Task], Awaitable[None]], undo: Callable[[], None]
    ) -> None:
        exitstatus = "unexpected status"
        try:
            await task.step("start")
            await work(task)
            exitstatus = f"WARNINGS: {task.warnings}" if task.warnings else "OK"
        except PveError as error:
            undo()
            exitstatus = error.spoken().replace("\n", " ")
        except asyncio.CancelledError:
            undo()
            exitstatus = "received interrupt"
        finally:
            task.log(
                f"TASK {exitstatus}"
                if exitstatus == "OK" or task.warnings
                else f"TASK ERROR: {exitstatus}"
            )
            ended = replace(task.record, exitstatus=exitstatus, endtime=int(self._clock.now()))
            self.table.put(ended.upid, ended)
            self._running.pop(ended.upid, None)
            self._store.commit()

    async def pass_step(self, record: TaskRecord, step: str) -> None:
        self._store.commit()
        self._faults.refresh()
        facts = {
            "host": self._host,
            "node": record.node,
            "task": record.kind,
            "step": step,
            "vmid": int(record.subject) if record.subject.isdigit() else 0,
        }
        stall = self._faults.find("stall", **facts)
        wait = stall.seconds if stall else self._pace
        await asyncio.sleep(wait)
        fault = self._faults.find("task", **facts)
        if fault:
            raise failed(fault.message or f"injected failure at step '{step}'")

    async def wait(self, upid: str) -> None:
        """Until the task has ended, however it ends."""
        running = self._running.get(upid)
        if running:
            await asyncio.wait([running])

    def stop_task(self, upid: str) -> None:
        running = self._running.get(upid)
        if running:
            running.cancel()

    async def close(self) -> None:
        for running in list(self._running.values()):
            running.cancel()
        if self._running:
            await asyncio.wait(list(self._running.values()))

    def _prune(self) -> None:
        if len(self.table) <= KEPT * 1.1:
            return
        finished = sorted((t for t in self.table.values() if t.exitstatus), key=lambda t: t.pid)
        for task in finished[: len(self.table) - KEPT]:
            self.table.drop(task.upid)
