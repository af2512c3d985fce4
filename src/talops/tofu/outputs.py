"""Compare the outputs of a platform layer with the inventory. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def output_differences(outputs: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """One line per output that is missing or differs; `outputs` comes from `output -json`."""
    lines: list[str] = []
    for name, wanted in expected.items():
        if name not in outputs:
            lines.append(f"{name} is missing")
            continue
        found = outputs[name].get("value")
        if found != wanted:
            lines.append(f"{name} is {found}, the inventory says {wanted}")
    return lines
