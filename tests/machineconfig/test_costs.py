"""What a change of a config costs: every setting that Talos knows has a row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from talops.machineconfig import yamltext
from talops.machineconfig.cost_table import KINDS, MAIN, Cost, Row
from talops.machineconfig.costs import consequences, row_of
from talops.machineconfig.effects import reboot_needed
from talops.machineconfig.schema.cluster import MAIN as MAIN_SCHEMA
from talops.machineconfig.schema.documents import KINDS as SCHEMA_KINDS
from talops.machineconfig.schema.types import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.machineconfig.schema.types import Type

FILE = Path(__file__).parent / "cost_cases.yaml"
CASES: list[dict[str, Any]] = yamltext.load(FILE.read_text(encoding="utf-8"), where=FILE.name)
HEADER = {"apiVersion", "kind", "name"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_consequences(case: dict[str, Any]) -> None:
    """Paths, costs and services, never a value."""
    before, after = (yamltext.load_all(case[key], where=key) for key in ("before", "after"))
    found = [
        " ".join(filter(None, (one.path, str(one.cost), one.service)))
        for one in consequences(before, after)
    ]
    assert sorted(found) == sorted(case["costs"])


def leaves(fields: Type, path: str = "") -> Iterator[str]:
    """Every setting below a section; lists and maps are one setting."""
    if not isinstance(fields, Struct) or fields.sealed or not fields.fields:
        yield path
        return
    for name, inner in fields.fields.items():
        yield from leaves(inner, f"{path}.{name}".lstrip("."))


def unclassified(kind: str, fields: Type) -> list[str]:
    return [path for path in leaves(fields) if path not in HEADER and row_of(kind, path) is None]


def test_every_setting_has_a_row() -> None:
    """The schema has every field of Talos 1.12 to 1.14: tests of the schema ask Talos itself."""
    assert unclassified("", MAIN_SCHEMA) == []
    for kind, fields in SCHEMA_KINDS.items():
        assert unclassified(kind, fields) == [], kind


def test_no_row_is_for_nothing() -> None:
    """A misspelled row would protect nothing."""
    known = list(leaves(MAIN_SCHEMA))
    assert [row for row in MAIN if not _has(known, row)] == []
    assert KINDS.keys() - SCHEMA_KINDS.keys() == set()
    for kind, rows in KINDS.items():
        if not isinstance(rows, Row):
            paths = list(leaves(SCHEMA_KINDS[kind]))
            assert [row for row in rows if not _has(paths, row)] == [], kind


def _has(paths: list[str], row: str) -> bool:
    return any(path == row or path.startswith(f"{row}.") for path in paths)


def test_what_reboots_is_known_to_the_effects() -> None:
    """A row that says "reboot" is one that the node is rebooted for, in some version of Talos."""
    silent = []
    for path, row in MAIN.items():
        if row.cost is Cost.REBOOT:
            before, after = _nested(path, "a"), _nested(path, "b")
            if not any(reboot_needed([before], [after], v) for v in ("v1.13.9", "v1.14.1")):
                silent.append(path)
    assert silent == []


def _nested(path: str, leaf: str) -> dict[str, Any]:
    found: Any = {leaf: {"x": leaf}}
    for part in reversed(path.split(".")):
        found = {part: found}
    return dict(found)


def test_an_unknown_kind_is_tried() -> None:
    """A newer Talos may have kinds that this version of talops does not know."""
    main, new = {"machine": {"type": "worker"}}, {"apiVersion": "v1alpha1", "kind": "NewConfig"}
    (found,) = consequences([main], [main, new])
    assert found.cost is Cost.CUT
