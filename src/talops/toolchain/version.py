"""Version numbers in the output of tools, and ranges of accepted versions."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = re.compile(r"(?<![\d.])v?([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?")


def parse(text: str) -> tuple[int, int, int] | None:
    """The first version number in the output of a tool, or None."""
    match = _NUMBER.search(text)
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def show(version: tuple[int, int, int]) -> str:
    return ".".join(map(str, version))


@dataclass(frozen=True)
class Range:
    """At least `least`, and lower than `below`."""

    least: str
    below: str

    def __contains__(self, version: tuple[int, int, int]) -> bool:
        return _padded(self.least) <= version < _padded(self.below)

    def __str__(self) -> str:
        return f">={self.least},<{self.below}"


def _padded(text: str) -> tuple[int, int, int]:
    major, minor, patch = (*map(int, text.split(".")), 0, 0)[:3]
    return (major, minor, patch)
