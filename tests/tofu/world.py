"""A stand-in for the engine: VMs as they are, VMs as they should be, and faults on demand."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talops.layer import Layer
from talops.tofu.errors import failure
from talops.tofu.events import Diagnostic, ResourceChange
from talops.tofu.plan import DOWNLOADS, VM, Plan, read_plan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from talops.events import Emit, Event


def node(name: str, **more: Any) -> dict[str, Any]:
    role = "controlplane" if name.startswith("cp") else "worker"
    return {
        "name": name,
        "vm_id": 100 + sum(map(ord, name)),
        "tags": [role],
        "migrate": True,
        "cpu": [{"cores": 4}],
        "disk": [{"interface": "scsi0", "size": 40}],
        **more,
    }


@dataclass
class World:
    """`faults`: address → messages, one of which each attempt to touch it uses up. `files`: names
    of downloads; all others are VMs.
    """

    wanted: dict[str, dict[str, Any]]
    actual: dict[str, dict[str, Any]] = field(default_factory=dict)
    tainted: set[str] = field(default_factory=set)
    faults: dict[str, list[str]] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    drifts: bool = False
    events: list[Event] = field(default_factory=list)
    restarted: list[set[str]] = field(default_factory=list)
    applied: list[int] = field(default_factory=list)
    lost: dict[str, dict[str, Any]] = field(default_factory=dict)
    imported: list[str] = field(default_factory=list)
    listeners: list[Emit] = field(default_factory=list)
    layer: Layer = field(default_factory=lambda: Layer("02-platforms/home"))

    def emit(self, event: Event) -> None:
        self.events.append(event)
        for listener in self.listeners:
            listener(event)

    def watch(self, listener: Emit) -> None:
        self.listeners.append(listener)

    async def import_resource(self, where: str, id_: str, extra: Sequence[str] = ()) -> None:
        name = where.split('"')[1]
        self.actual[name] = self.lost.pop(name)
        self.imported.append(id_)

    async def untaint(self, where: str) -> None:
        self.tainted.remove(where.split('"')[1])

    async def plan(
        self,
        saved: Path,
        *,
        destroy: bool = False,
        targets: Sequence[str] = (),
        extra: Sequence[str] = (),
        step: str = "plan",
    ) -> bool:
        wanted = {} if destroy else self.wanted
        names = [n for n in {**self.actual, **wanted} if not targets or address(n) in targets]
        changes = [self._change(n, wanted.get(n)) for n in sorted(names)]
        document = {"format_version": "1.2", "resource_changes": changes}
        _write(saved, document)
        return not read_plan(document).empty

    def _change(self, name: str, after: dict[str, Any] | None) -> dict[str, Any]:
        before = self.actual.get(name)
        reason = ""
        if before is None:
            actions = ["create"]
        elif after is None:
            actions = ["delete"]
        elif name in self.tainted:
            actions, reason = ["delete", "create"], "replace_because_tainted"
        else:
            same = before == after and not self.drifts
            actions = ["no-op"] if same else ["update"]
        change = {"actions": actions, "before": before, "after": after, "after_unknown": {}}
        kind = DOWNLOADS[0] if name in self.files else VM
        return {"address": address(name), "type": kind, "change": change, "action_reason": reason}

    async def show(self, saved: Path) -> Plan:
        return read_plan(_read(saved))

    async def apply(self, saved: Path, *, parallelism: int, extra: Sequence[str] = ()) -> None:
        plan = await self.show(saved)
        self.applied.append(parallelism)
        restarted: set[str] = set()
        problems = []
        for change in plan.acts:
            name = change.name
            if self.faults.get(name):
                problems.append(Diagnostic("l", "error", "failed", self.faults[name].pop(0)))
                if "create" in change.actions:  # half a VM stays behind
                    self.actual[name] = {**change.after, "cpu": []}
                    self.tainted.add(name)
                continue
            if change.actions == ("update",) and change.before["cpu"] != change.after["cpu"]:
                restarted.add(name)
            self.tainted.discard(name)
            self.emit(ResourceChange("l", change.address, change.actions[0], "complete"))
            if change.after:
                self.actual[name] = dict(change.after)
            else:
                del self.actual[name]
        if restarted:
            self.restarted.append(restarted)
        if problems:
            raise failure("l", "apply", 1, problems, "")


def _write(saved: Path, document: dict[str, Any]) -> None:
    saved.write_text(json.dumps(document))


def _read(saved: Path) -> dict[str, Any]:
    return dict(json.loads(saved.read_text()))


def address(name: str) -> str:
    return f'module.node["{name}"].{VM}.this'
