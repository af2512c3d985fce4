"""Faults that a test or a demo can put into a node, through the API or a small file.

The file is `faults/<machine name or uuid>.json` in the lab's directory, with the fields below.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.files import write_atomic

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Faults:
    """Nothing is wrong unless it is said here."""

    slow_boot: float = 0.0  # seconds on top of each boot, not scaled
    crash_at: str = ""  # a phase of `failures.PHASES`; happens once, then the node reboots
    never_ready: bool = False
    wrong_disk: bool = False  # the disks appear under other names than expected
    clock_skew: float = 0.0  # seconds ahead of true time
    network_lost: bool = False
    refuse_bootstrap: bool = False
    disk_full: bool = False


NONE = Faults()


class FaultBook:
    """All faults of a lab, kept in its directory, so that another process can set them too."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def of(self, *names: str) -> Faults:
        """The faults of a machine by any of its names; the first file found counts."""
        for name in names:
            path = self._directory / f"{name}.json"
            try:
                return _parse(path.read_text(encoding="utf-8"), path)
            except FileNotFoundError:
                continue
        return NONE

    def set(self, name: str, faults: Faults) -> None:
        text = json.dumps(dataclasses.asdict(faults), indent=2)
        write_atomic(self._directory / f"{name}.json", text + "\n")

    def clear(self, name: str) -> None:
        (self._directory / f"{name}.json").unlink(missing_ok=True)

    def crashed(self, *names: str) -> None:
        """A crash happens once: the fault is taken out of the book."""
        for name in names:
            if (self._directory / f"{name}.json").exists():
                self.set(name, dataclasses.replace(self.of(name), crash_at=""))
                return


def _parse(text: str, path: Path) -> Faults:
    try:
        return Faults(**json.loads(text))
    except (TypeError, ValueError) as error:
        names = ", ".join(field.name for field in dataclasses.fields(Faults))
        raise TalopsError(
            f"not a faults file: {error}", where=str(path), hint=f"known faults: {names}"
        ) from error
