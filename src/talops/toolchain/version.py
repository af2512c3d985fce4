"""Version numbers as tools print them, and which of them will do."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = re.compile(r"(?<![\d.])v?(\d+)\.(\d+)(?:\.(\d+))?")


def parse(text: str) -> tuple[int, int, int] | None:
    """The first version number in what a tool printed; None if there is none."""
    match = _NUMBER.search(text)
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def show(version: tuple[int, int, int]) -> str:
    return ".".join(map(str, version))


@dataclass(frozen=True)
class Range:
    """From `least` on, below `below`."""

    least: str
    below: str

    def __contains__(self, version: tuple[int, int, int]) -> bool:
        return _padded(self.least) <= version < _padded(self.below)

    def __str__(self) -> str:
        return f">={self.least},<{self.below}"


def _padded(text: str) -> tuple[int, int, int]:
    major, minor, patch = (*map(int, text.split(".")), 0, 0)[:3]
    return (major, minor, patch)
