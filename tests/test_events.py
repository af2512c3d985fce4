"""Events survive the way through JSON, and their documentation is complete."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from talops.events import KINDS, SCHEMA, Event, Note, from_json, to_json

DOCS = Path(__file__).parent.parent / "docs" / "events.md"


def sample(shape: type[Event]) -> Event:
    values = {"str": "x", "int": 3, "float": 1.5, "bool": True}
    given = {
        f.name: ("a", "b") if "tuple" in str(f.type) else values.get(str(f.type), "x")
        for f in dataclasses.fields(shape)
    }
    return shape(**given)


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_comes_back_from_json(kind: str) -> None:
    """What was written is what is read."""
    event = sample(KINDS[kind])
    assert from_json(json.loads(json.dumps(to_json(event)))) == event


@pytest.mark.parametrize(
    "change",
    [{"kind": "from_the_future"}, {"schema": SCHEMA + 1}, {"message": None, "kind": "log"}],
)
def test_what_is_not_known_is_left_out(change: dict[str, object]) -> None:
    """Another version's event gives None instead of half an event."""
    assert from_json({**to_json(Note("x")), **change}) is None


def test_a_new_field_does_not_break_reading() -> None:
    """Additions are allowed within a schema version."""
    assert from_json({**to_json(Note("x")), "colour": "red"}) == Note("x")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_and_field_is_documented(kind: str) -> None:
    """docs/events.md has a row for the kind that names all its fields."""
    row = next((r for r in DOCS.read_text().splitlines() if r.startswith(f"| `{kind}` ")), "")
    assert row, f"no row for {kind}"
    named = set(re.findall(r"`([a-z_]+)`", row.split("|")[2]))
    assert named == {f.name for f in dataclasses.fields(KINDS[kind])}
