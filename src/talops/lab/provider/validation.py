"""What is wrong with a configuration before anything is asked of Proxmox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.provider.values import UNKNOWN, Values

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.lab.provider.schema import Block


def one_of(*allowed: str) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        return None if value in allowed else f"expected one of {', '.join(allowed)}, got {value!r}"

    return check


def between(low: float, high: float) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        return None if low <= value <= high else f"expected {low} to {high}, got {value}"

    return check


def at_least(low: int) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        return None if value >= low else f"expected at least {low}, got {value}"

    return check


def matching(pattern: str, what: str) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        import re

        return None if re.fullmatch(pattern, str(value)) else f"expected {what}, got {value!r}"

    return check


def problems(block: Block, config: Values, at: str = "") -> list[str]:
    found = []
    for name, item in block.attributes.items():
        value = config.get(name)
        if value is None or value is UNKNOWN:
            continue
        if item.elements is not None:
            for i, element in enumerate(value):
                if element is not UNKNOWN:
                    found += problems(item.elements, element, f"{at}{name}[{i}].")
        complaint = item.check(value) if item.check else None
        if complaint:
            found.append(f"{at}{name}: {complaint}")
    for name, nested in block.blocks.items():
        elements = config.get(name)
        if not isinstance(elements, list):
            continue
        for i, element in enumerate(elements):
            found += problems(nested.block, element, f"{at}{name}[{i}].")
    return found
