"""The files of a lab, in one directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.files import make_private_directory

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """The lab's directory. A reset removes `state()`; all other files are the lab's identity."""

    root: Path

    @property
    def identity(self) -> Path:
        return self.root / "lab.json"

    @property
    def running(self) -> Path:
        """Locked by the process that runs the lab; holds what `lab start` printed."""
        return self.root / "running.json"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def log(self) -> Path:
        return self.root / "lab.log"

    @property
    def faults(self) -> Path:
        """Edited by hand to inject faults; read again when it changes."""
        return self.root / "faults.json"

    @property
    def pki(self) -> Path:
        return make_private_directory(self.root / "pki")

    def state(self, service: str) -> Path:
        return make_private_directory(self.root / "state" / service)
