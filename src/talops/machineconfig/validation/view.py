"""The parts of one config, for the checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.machineconfig.patches.identity import identify

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTROL_PLANE_TYPES = frozenset({"controlplane", "init"})
WORKER_TYPES = frozenset({"worker", "join"})


@dataclass(frozen=True)
class View:
    """`machine` and `cluster` of the main document, and the other documents."""

    main: dict[str, Any]
    others: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, documents: Sequence[dict[str, Any]]) -> View | None:
        mains = [d for d in documents if identify(d).is_main]
        if not mains:
            return None
        return cls(mains[0], tuple(d for d in documents if not identify(d).is_main))

    @property
    def machine(self) -> dict[str, Any]:
        return self.main.get("machine") or {}

    @property
    def cluster(self) -> dict[str, Any]:
        return self.main.get("cluster") or {}

    @property
    def control_plane(self) -> bool:
        return self.machine.get("type") in CONTROL_PLANE_TYPES

    @property
    def worker(self) -> bool:
        return self.machine.get("type") in WORKER_TYPES

    def either(self, path: str, kind: str, field: str) -> Any:
        """A setting of the main document, or of the document that replaced it."""
        value = at(self.main, path)
        if value:
            return value
        return next((found for d in self.kind(kind) if (found := at(d, field))), value)

    def kind(self, name: str) -> list[dict[str, Any]]:
        return [document for document in self.others if document.get("kind") == name]


def at(data: dict[str, Any], path: str) -> Any:
    """The value at a dotted path; None if any part is missing."""
    value: Any = data
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
