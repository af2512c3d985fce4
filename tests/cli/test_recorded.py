"""The record of commands sees what programs would see."""

from __future__ import annotations

import pytest
from tests.cli.recorded import Answer, keys_of, missing, recorded

BEFORE = Answer(0, '{"version": 1, "layers": [{"name": "a"}, {"name": null}]}')


def test_a_record_can_be_read() -> None:
    """Sorted paths with their types, the same for every item of a list."""
    assert recorded({"drift": BEFORE, "check": Answer(3, "x", as_json=False)}) == (
        "drift: exit 0\n  .layers[].name null|string\n  .version number\n\ncheck: exit 3\n"
    )


def test_values_and_order_do_not_matter() -> None:
    """Only what a program depends on."""
    same = Answer(0, '{"layers": [{"name": null}, {"name": "b"}], "version": 2.5}')
    assert recorded({"drift": same}) == recorded({"drift": BEFORE})


@pytest.mark.parametrize(
    "changed",
    [
        Answer(2, BEFORE.out),
        Answer(0, BEFORE.out.replace("version", "schema")),
        Answer(0, BEFORE.out.replace("1", '"1"')),
        Answer(0, BEFORE.out.replace('{"name": null}', "{}")),
        Answer(0, BEFORE.out.replace("null", '"b"')),
        Answer(0, ""),
    ],
)
def test_a_change_shows(changed: Answer) -> None:
    """The exit code, a key, a type, a missing value, nothing at all."""
    assert recorded({"drift": changed}) != recorded({"drift": BEFORE})


def test_words_are_recorded() -> None:
    """An action or a status is a value that programs compare with."""
    out = '{"changes": [{"action": "create"}, {"action": "update"}], "status": null}'
    assert recorded({"up": Answer(0, out)}) == (
        'up: exit 0\n  .changes[].action "create"|"update"\n  .status null\n'
    )
    assert '"create"|"update"' in recorded({"up": keys_of(0, out)})


def test_streams_are_told_apart_by_kind() -> None:
    """Each kind of event has fields of its own."""
    out = '{"kind": "note", "level": "info"}\n{"kind": "log", "text": ""}\n'
    assert recorded({"up": Answer(0, out)}) == (
        'up: exit 0\n  <log>.text string\n  <note>.level "info"\n'
    )


def test_keys_without_values() -> None:
    """What takes its time is left out, and a value may be there or not."""
    one = '{"kind": "node_status", "vm": null}\n{"kind": "wait_progress", "name": "a"}\n'
    two = '{"kind": "node_status", "vm": "running"}\n'
    assert recorded({"up": keys_of(0, one)}) == recorded({"up": keys_of(0, two)})
    assert recorded({"a": keys_of(0, '{"a": [{"b": 1}]}')}) == "a: exit 0\n  .a[].b string\n"


def test_more_is_allowed_where_time_decides() -> None:
    """New keys, kinds and words; not another exit code, a removed key or another word."""
    known = recorded({"up": Answer(0, '{"a": 1, "status": "done"}')})
    more = '{"a": 1, "b": 2, "status": "done"}'
    assert missing(known, recorded({"up": Answer(0, more), "down": Answer(0, "")})) == []
    assert missing(known, recorded({"up": Answer(2, more)})) != []
    assert missing(known, recorded({"up": Answer(0, '{"a": 1}')})) == ["up: exit 0 .status"]
    assert missing(known, recorded({"up": Answer(0, '{"a": 1, "status": "ok"}')})) != []
    assert missing(known, recorded({})) != []
