"""One measured figure beside what it must keep to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """`bound` is an upper limit, or a lower one where `at_least`; None: only shown."""

    name: str
    value: float
    unit: str = ""
    bound: float | None = None
    at_least: bool = False

    @property
    def holds(self) -> bool:
        if self.bound is None:
            return True
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def __str__(self) -> str:
        shown = f"{self.name:<58} {self.value:>10.3g} {self.unit:<10}"
        if self.bound is None:
            return shown.rstrip()
        sign = "≥" if self.at_least else "≤"
        return f"{shown} {sign} {self.bound:g}  {'ok' if self.holds else 'NOT KEPT'}"
