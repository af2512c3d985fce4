"""A layer: an OpenTofu configuration of a cluster's directory, with its own state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

FOLDER = "infrastructure"


@dataclass(frozen=True)
class Layer:
    """`name`, as in `--layer`, is the path below infrastructure/; `root` contains the inventory."""

    name: str
    root: Path = Path()

    def at(self, root: Path) -> Layer:
        return replace(self, root=root)

    @property
    def kind(self) -> str:
        """hypervisors, platforms or legacy."""
        return self.name.split("/")[0].partition("-")[2]

    @property
    def directory(self) -> str:
        return f"{FOLDER}/{self.name}"

    @property
    def path(self) -> Path:
        return self.root / self.directory

    @property
    def state(self) -> str:
        """The name of its state, unique within one inventory."""
        return self.name.replace("/", "-")
