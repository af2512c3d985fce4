"""Plain data survives the way to YAML and back, whatever it looks like."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from talops.errors import TalopsError
from talops.machineconfig import yamltext

TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12
) | st.sampled_from(
    ["", "off", "Yes", "null", "~", "1.30", "0644", "1e3", "12:30:45", "2026-01-02", "- a", "a: b",
     "a #b", "#a", "&a", "*a", "!a", "%a", "@a", "`a", "{a", "[a", "'", '"', "a:", " a", "a ",
     "x\ny", "x\ny\n", "x\n\n", " x\ny", "x \ny", "\n", "0x1f", "0o17", ".5", "+1", "=", "<<"]
)  # fmt: skip
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(TEXT, DATA, max_size=4))
def test_round_trip(data: dict[str, Any]) -> None:
    """Written by the quick writer, read by both readers, equal."""
    text = yamltext.dump(data)
    assert yamltext.load(text, where="x") == data
    assert YAML(typ="safe", pure=True).load(text) == data


def test_shape() -> None:
    """Four spaces, list items below their key, text of several lines as a block."""
    text = yamltext.dump(
        {"a": {"b": [1, {"c": "x", "d": []}], "e": "one\ntwo\n"}, "f": {}, "g": [["h"]]}
    )
    assert text == (
        "a:\n    b:\n        - 1\n        - c: x\n          d: []\n"
        "    e: |\n        one\n        two\nf: {}\ng:\n    -\n        - h\n"
    )


def test_documents_are_separated() -> None:
    """Several documents come back as several."""
    text = yamltext.dump_all([{"a": 1}, {"b": 2}])
    assert text == "a: 1\n---\nb: 2\n"
    assert yamltext.load_all(text + "---\n", where="x") == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0644", 0o644),
        ("0o644", 0o644),
        ("2026-01-02", "2026-01-02"),
        ("yes", "yes"),
        ("[https://a.example:5000]", ["https://a.example:5000"]),
    ],
)
def test_scalars_are_read_as_talos_reads_them(text: str, value: Any) -> None:
    """File modes are octal, dates and yes/no are text, URLs may stand in flow lists."""
    assert yamltext.load(f"a: {text}\n", where="x") == {"a": value}


@pytest.mark.parametrize(
    "text", ["a: {b: SECRET, b: c}\n", "a: SECRET\na: OTHER\n", "a: [SECRET\n", "a: b: SECRET\n"]
)
def test_errors_have_a_place_and_quote_nothing(text: str) -> None:
    """The lines of these files hold keys: the message says where, never what."""
    with pytest.raises(TalopsError) as caught:
        yamltext.load(text, where="secrets.yaml")
    assert (caught.value.where or "").startswith("secrets.yaml:")
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None


BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 30)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "values, including aliases"),
        ("a: &a [*a]\n", "values, including aliases"),
        ("[" * 20_000, "nested too deeply|not valid YAML"),
        ("a: " + "x" * (9 << 20), "larger than 8 MiB"),
    ],
)
def test_traps_are_refused(text: str, message: str) -> None:
    """Bombs, loops, depth and size end in a message, not in a full memory."""
    with pytest.raises(TalopsError, match=message):
        yamltext.load_all(text, where="patch.yaml")


def test_unknown_types_are_a_bug() -> None:
    """Only plain data can be written."""
    with pytest.raises(TypeError, match="cannot write as YAML: object"):
        yamltext.dump({"a": object()})
