"""A layer: an OpenTofu configuration of a cluster's directory, with its own state."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

FOLDER = "infrastructure"


@dataclass(frozen=True)
class Layer:
    """`name`, as in `--layer`, is the path below infrastructure/; `root` contains the inventory.

    `owner` is the cluster of a layer whose name does not contain it.
    """

    name: str
    root: Path = Path()
    owner: str = field(default="", compare=False)

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
    def slug(self) -> str:
        """The name in file names, unique within one directory."""
        return self.name.replace("/", "-")

    @property
    def state(self) -> str:
        """The name of its state, unique among the clusters that share a place for states."""
        return f"{self.slug}-{self.owner}" if self.owner else self.slug
