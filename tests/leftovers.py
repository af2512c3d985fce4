"""Every file that lies somewhere, while others may still be at work there."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Leftover:
    """A regular file, or a link to one, with what was in it."""

    path: Path
    mode: int
    content: bytes


def leftovers(*places: Path) -> Iterator[Leftover]:
    """A file or folder that is removed meanwhile was not left behind: it is skipped."""
    for place in places:
        for folder, _, names in os.walk(place):
            for path in (Path(folder, name) for name in names):
                try:
                    mode = path.stat().st_mode
                    if stat.S_ISREG(mode):
                        yield Leftover(path, stat.S_IMODE(mode), path.read_bytes())
                except FileNotFoundError:
                    continue
