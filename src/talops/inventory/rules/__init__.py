"""Rules across values. One small function per rule; each has cases in tests/cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

from talops.inventory.parse import Inventory
from talops.problems import FileProblem, Position, Severity

# Where, what and hint.
Violation = tuple[Position, str, str]
Rule = Callable[[Inventory], Iterator[Violation]]

_RULES: list[tuple[str, Severity, Rule]] = []
_MODULES = (
    "required",
    "network",
    "nodes",
    "versions",
    "hardware",
    "hypervisors",
    "settings",
    "storage",
    "operating",
)


def rule(name: str, severity: Severity = Severity.ERROR) -> Callable[[Rule], Rule]:
    """Register a check; it yields (where, what, hint) for each problem."""

    def register(check: Rule) -> Rule:
        _RULES.append((name, severity, check))
        return check

    return register


PROXMOX_KEYS = ("proxmox_api_url", "proxmox_node")


def is_bare_metal(inventory: Inventory) -> bool:
    """Neither key is set; an invalid value counts as set."""
    return not any(inventory.at.gives(key) for key in PROXMOX_KEYS)


def all_rules() -> list[tuple[str, Severity, Rule]]:
    for module in _MODULES:
        import_module(f"{__name__}.{module}")
    return list(_RULES)


def broken_rules(inventory: Inventory) -> list[FileProblem]:
    return [
        FileProblem(name, position, what, hint, severity)
        for name, severity, check in all_rules()
        for position, what, hint in check(inventory)
    ]
