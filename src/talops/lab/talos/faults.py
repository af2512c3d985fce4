"""Faults that a test or a demo can put into a node, through the API or a small file.

The file is `faults/<machine name or uuid>.json` in the lab's directory, with the fields below.
"""

from __future__ import annotations

import dataclasses
import json
import time
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
_FRESH = 0.1


class FaultBook:
    """All faults of a lab, kept in its directory, so that another process can set them too.

    Nodes ask all the time, so the directory is looked at only every tenth of a second.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[str, Faults] = {}
        self._looked = 0.0

    def of(self, *names: str) -> Faults:
        """The faults of a machine by any of its names; the first that is known counts."""
        if time.monotonic() - self._looked > _FRESH:
            self._read()
        return next((self._known[name] for name in names if name in self._known), NONE)

    def set(self, name: str, faults: Faults) -> None:
        text = json.dumps(dataclasses.asdict(faults), indent=2)
        write_atomic(self._directory / f"{name}.json", text + "\n")
        self._read()

    def clear(self, name: str) -> None:
        (self._directory / f"{name}.json").unlink(missing_ok=True)
        self._read()

    def crashed(self, *names: str) -> None:
        """A crash happens once: the fault is taken out of the book."""
        for name in names:
            if name in self._known:
                self.set(name, dataclasses.replace(self._known[name], crash_at=""))
                return

    def _read(self) -> None:
        found = sorted(self._directory.glob("[!.]*.json")) if self._directory.is_dir() else []
        self._known = {path.stem: _parse(path) for path in found}
        self._looked = time.monotonic()


def _parse(path: Path) -> Faults:
    try:
        return Faults(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:  # taken back at this very moment
        return NONE
    except (TypeError, ValueError) as error:
        names = ", ".join(field.name for field in dataclasses.fields(Faults))
        raise TalopsError(
            f"not a faults file: {error}", where=str(path), hint=f"known faults: {names}"
        ) from error
