"""Maintenance windows, gates and timeouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.inventory.rules import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.inventory.operating import Gate
    from talops.inventory.parse import Inventory
    from talops.inventory.rules import Violation


@rule("window-length")
def empty_windows(inv: Inventory) -> Iterator[Violation]:
    found = inv.cluster.maintenance
    for index, window in enumerate(found.windows if found else ()):
        if window.start == window.end:
            yield (
                inv.at.cluster_value("maintenance", "windows", index, "end"),
                f"this window opens and closes at {window.start}",
                'write another end; for the whole day: start: "00:00", end: "23:59"',
            )
        if window.days == []:
            yield (
                inv.at.cluster_value("maintenance", "windows", index, "days"),
                "this window has no days, so it never opens",
                "name at least one day, or remove days for every day",
            )


@rule("gate-kind")
def one_kind_of_gate(inv: Inventory) -> Iterator[Violation]:
    for index, gate in enumerate(inv.cluster.gates or ()):
        kinds = [kind for kind in ("expression", "job", "command") if getattr(gate, kind)]
        if len(kinds) != 1:
            has = " and ".join(kinds) if kinds else "none of them"
            yield (
                inv.at.cluster_value("gates", index),
                f"gate {gate.name} needs exactly one of expression, job and command, and has {has}",
                "split it into several gates" if kinds else "add one of them",
            )
        elif wrong := _object(gate):
            yield (inv.at.cluster_value("gates", index), *wrong)


def _object(gate: Gate) -> tuple[str, str] | None:
    if gate.expression and gate.object is None:
        example = "object: {api_version: ceph.rook.io/v1, kind: CephCluster}"
        return f"the expression of gate {gate.name} has no object", f"add {example}"
    if gate.object and not gate.expression:
        return f"gate {gate.name} has an object, but no expression", "remove object"
    return None


@rule("gate-name")
def gate_names(inv: Inventory) -> Iterator[Violation]:
    known: set[str] = set()
    for index, gate in enumerate(inv.cluster.gates or ()):
        if gate.name in known:
            yield (
                inv.at.cluster_value("gates", index, "name"),
                f"another gate is called {gate.name}, too",
                "give each gate its own name",
            )
        known.add(gate.name)
