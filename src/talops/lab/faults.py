"""Injected faults, set by the control API or a file."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.lab.talos.machine.failures import PHASES

if TYPE_CHECKING:
    from pathlib import Path

KINDS = {
    "latency": "delay responses by `seconds`",
    "error": "respond with HTTP `status` and `message` (when: before or after the work)",
    "drop": "close the connection without a response (when: before or after the work)",
    "task": "fail tasks of type `task` at `step` with `message`",
    "stall": "make the step `step` of tasks of type `task` take `seconds`",
    "vm-locked": "VM `vmid` is locked (`message` names the lock, default backup)",
    "storage-full": "storage `storage` has no space left",
    "token-revoked": "the API token `token` is rejected",
    "clock-skew": "the host's clock is `seconds` ahead (or behind, if negative)",
    "node-offline": "node `node` does not respond",
    "no-pvestatd": "pvestatd is stopped: /cluster/resources shows `unknown`, without names",
    "talos-slow-boot": "machine `machine` boots `seconds` later",
    "talos-crash": "machine `machine` panics in `phase`, `times` times (default once)",
    "talos-never-ready": "machine `machine` never becomes Ready in Kubernetes",
    "talos-wrong-disk": "the disks of machine `machine` have other names than expected",
    "talos-clock-skew": "the clock of machine `machine` is `seconds` ahead",
    "talos-network-lost": "connections to machine `machine` time out",
    "talos-refuse-bootstrap": "machine `machine` refuses to bootstrap etcd",
    "talos-disk-full": "writes to the disks of machine `machine` fail",
    "talos-volumes-stuck": "no volume can be detached from machine `machine`",
    "talos-hang": "the next boot of machine `machine` does not end",
    "talos-boot-fails": "a new system on machine `machine` fails to boot; the old one runs",
    "talos-install-fails": "installers on machine `machine` end with `exit_code` (default 1)",
    "talos-image-missing": "images that match `path` (default all) cannot be pulled on `machine`",
    "talos-slow-pull": "pulls on machine `machine` make no progress for `seconds`",
    "talos-etcd-lost": "etcd on machine `machine` ends and does not start",
    "talos-etcd-slow": "etcd on machine `machine` responds with delays",
    "talos-apiserver-lost": "kube-apiserver on machine `machine` ends and does not start",
}
CRASH = "talos-crash"
MISSING = "talos-image-missing"
# Their `path` is searched by the node, in the images that it pulls.
_BY_NODES = {MISSING}
# Fields that must be equal; an empty one matches anything.
_EXACT = (
    "host", "node", "method", "vmid", "storage", "token", "task", "step", "when", "phase",
)  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One rule. Empty fields match anything; it fires `times` times after `skip` matches."""

    kind: str
    id: str = ""
    host: str = ""  # the Proxmox installation
    node: str = ""
    method: str = ""
    path: str = ""  # regular expression, searched in the path below /api2/json, or in an image
    vmid: int = 0
    storage: str = ""
    token: str = ""
    task: str = ""
    step: str = ""
    machine: str = ""  # a VM's name or UUID
    phase: str = ""
    exit_code: int = 1
    status: int = 500
    message: str = ""
    seconds: float = 0.0
    when: str = "before"
    times: int = 0  # 0 = unlimited
    skip: int = 0
    probability: float = 1.0
    seed: int = 0

    def matches(self, kind: str, facts: dict[str, Any]) -> bool:
        if kind != self.kind:
            return False
        for name in _EXACT:
            wanted = getattr(self, name)
            if wanted and name in facts and facts[name] != wanted:
                return False
        if self.machine and "machine" in facts and self.machine not in facts["machine"]:
            return False
        asked = facts.get("path", "" if self.kind not in _BY_NODES else None)
        return not self.path or asked is None or bool(re.search(self.path, asked))


def parse(raw: dict[str, Any]) -> Fault:
    known = {field.name for field in fields(Fault)}
    unknown = set(raw) - known
    if unknown or raw.get("kind") not in KINDS:
        what = f"unknown keys {sorted(unknown)}" if unknown else f"unknown kind {raw.get('kind')!r}"
        raise TalopsError(
            f"not a fault: {what}", hint=f"kinds: {', '.join(KINDS)}; see `talops lab fault --help`"
        )
    if raw["kind"] == CRASH and raw.get("phase") not in PHASES:
        raise TalopsError(
            f"not a phase of a node: {raw.get('phase')!r}", hint=f"phases: {', '.join(PHASES)}"
        )
    return Fault(**({"times": 1} if raw["kind"] == CRASH else {}) | raw)


class Faults:
    """The active rules, how often each has fired, and the file with more rules."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stamp: tuple[int, int] | None = None
        self._by_api: dict[str, Fault] = {}
        self._by_file: dict[str, Fault] = {}
        self._seen: dict[str, int] = {}
        self._dice: dict[str, random.Random] = {}
        self._next = 0
        self.problem = ""

    def add(self, fault: Fault) -> Fault:
        self._next += 1
        named = Fault(**{**vars(fault), "id": fault.id or f"fault-{self._next}"})
        self._by_api[named.id] = named
        self._seen.pop(named.id, None)
        return named

    def remove(self, fault_id: str | None) -> int:
        """Remove one rule or all; rules of the file are removed only by editing it."""
        gone = list(self._by_api) if fault_id is None else [fault_id]
        return sum(self._by_api.pop(name, None) is not None for name in gone)

    def listing(self) -> list[dict[str, Any]]:
        self.refresh()
        rules = [*self._by_api.values(), *self._by_file.values()]
        return [{**vars(rule), "seen": self._seen.get(rule.id, 0)} for rule in rules]

    def find(self, kind: str, **facts: Any) -> Fault | None:
        """The first rule that fires now; each call counts, so call it once per occasion."""
        if not self._by_api and not self._by_file:
            return None
        for rule in (*self._by_api.values(), *self._by_file.values()):
            if rule.matches(kind, facts) and self._fires(rule):
                return rule
        return None

    def standing(self, kind: str, **facts: Any) -> Fault | None:
        """The first rule for a lasting state, such as a lost network; calls do not count."""
        for rule in (*self._by_api.values(), *self._by_file.values()):
            if rule.matches(kind, facts):
                self._seen.setdefault(rule.id, 1)
                return rule
        return None

    def _fires(self, rule: Fault) -> bool:
        seen = self._seen.get(rule.id, 0)
        self._seen[rule.id] = seen + 1
        if seen < rule.skip or (rule.times and seen >= rule.skip + rule.times):
            return False
        dice = self._dice.setdefault(rule.id, random.Random(rule.seed))  # noqa: S311  (repeatable)
        return rule.probability >= 1 or dice.random() < rule.probability

    def refresh(self) -> None:
        """Reload the file if it changed; once per request and task step."""
        try:
            info = self._file.stat()
        except FileNotFoundError:
            self._by_file, self._stamp = {}, None
            return
        stamp = (info.st_mtime_ns, info.st_size)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            rules = [parse(raw) for raw in json.loads(self._file.read_text(encoding="utf-8"))]
        except (ValueError, TypeError, TalopsError) as error:
            # Partially written by an editor: keep the old rules and report why in `lab status`.
            self.problem = f"{self._file}: {error}"
            return
        self.problem = ""
        self._by_file = {
            name: Fault(**{**vars(rule), "id": name})
            for number, rule in enumerate(rules)
            for name in [rule.id or f"file-{number}"]
        }
