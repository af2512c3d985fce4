"""A long-lived process that asks the Talos library: one JSON object per line, both ways."""

from __future__ import annotations

import base64
import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.machineconfig import yamltext

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

MODES = ("cloud", "metal", "container")


class RefusedError(Exception):
    """The library says no; the text is its own."""


class BrokeDownError(Exception):
    """The library panicked."""


@dataclass(frozen=True)
class Encoded:
    """A resource as a node of the library's version sends it; `spec` as `talosctl get` shows it."""

    type: str
    id: str
    proto: bytes
    spec: Any


class Oracle:
    """Answers within a millisecond or two; close it when the session ends."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def close(self) -> None:
        self._process.communicate(timeout=10)

    def ask(self, operation: str, **fields: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"op": operation, **fields}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the oracle ended while it was asked to {operation}"
        answer = json.loads(line)
        if "panic" in answer:
            raise BrokeDownError(f"{operation}: {answer['panic']}")
        if "error" in answer:
            raise RefusedError(answer["error"])
        return answer["ok"]

    def complaints(self, config: str, modes: Sequence[str] = MODES) -> list[str]:
        """What strict validation has against the config, warnings included."""
        try:
            verdicts = self.ask("validate", config=config, modes=list(modes))
        except RefusedError as error:
            return [str(error)]
        return [
            f"{mode}: {text}"
            for mode in modes
            for text in [*(verdicts[mode]["warnings"] or []), verdicts[mode]["error"]]
            if text
        ]

    def normalize(self, documents: Iterable[dict[str, Any]]) -> list[Any]:
        """The documents as the library understands them."""
        found: list[Any] = self.ask("normalize", config=yamltext.dump_all(documents))
        return found

    def patch(self, documents: Iterable[dict[str, Any]], patches: Iterable[str]) -> list[Any]:
        """The documents after talosctl's own patching."""
        config = yamltext.dump_all(documents)
        found: list[Any] = self.ask("patch", config=config, patches=list(patches))
        return found

    def encoded(self, operation: str, **fields: Any) -> Encoded:
        found = self.ask(operation, **fields)
        proto = base64.b64decode(found["proto"] or "")
        return Encoded(found["type"], found["id"], proto, found["spec"])
