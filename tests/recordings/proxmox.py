"""What the real API of Proxmox VE 9.2 answered, request by request.

One host with real pve-manager 9.2.11, qemu-server 9.2.6 and pve-storage 9.1.7; guests were emulated
and had no operating system. Each file is one session: its requests depend on those before them.
Of a body only those parts are kept that the lab once answered differently: under `body` a path and
its JSON type, its value, that it is absent, or how long a list is. `exit` is how the task ended
that a request started, `errors` what was said of a parameter (null: nothing; `start`: the rest was
not kept), `removed` a VM that was removed again before the next request.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("proxmox-9.2")
SESSIONS = tuple(sorted(path.stem for path in FOLDER.glob("*.jsonl")))
FACTORY = "FACTORY"  # stands for the address of the image factory


@dataclass(frozen=True)
class Recorded:
    group: str
    title: str
    method: str
    path: str
    params: dict[str, Any]
    caller: str
    status: int
    reason: str
    errors: dict[str, Any] = field(default_factory=dict)
    body: dict[str, dict[str, Any]] = field(default_factory=dict)
    exit: str | None = None
    empty: bool = False  # an answer without a body
    removed: int | None = None

    @property
    def name(self) -> str:
        return f"[{self.group}] {self.title}"


@cache
def session(name: str) -> tuple[Recorded, ...]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    entries = (json.loads(line) for line in lines)
    return tuple(Recorded(caller=entry.pop("as"), **entry) for entry in entries)
