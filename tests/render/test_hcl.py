"""Plain values become HCL that cannot be read as anything else."""

from __future__ import annotations

from typing import Any

import pytest

from talops.render.hcl import assignments, literal


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        (0, "0"),
        ("a", '"a"'),
        ('say "hi" \\ bye\n', '"say \\"hi\\" \\\\ bye\\n"'),
        ("${var.x} %{if}", '"$${var.x} %%{if}"'),
        ([], "[]"),
        ([1, "b"], '[1, "b"]'),
        ({}, "{}"),
        ({"a": 1, "long_key": 2}, "{\n  a        = 1\n  long_key = 2\n}"),
        ({"with-dash": 1}, '{\n  "with-dash" = 1\n}'),
        ([{"a": 1}], "[\n  {\n    a = 1\n  },\n]"),
    ],
)
def test_literal(value: Any, expected: str) -> None:
    """Each kind of value has one spelling."""
    assert literal(value) == expected


def test_only_neighbours_are_aligned() -> None:
    """A value over several lines ends the column, as in `tofu fmt`."""
    text = assignments({"a": 1, "bb": 2, "map": {"x": 1}, "c": 3})
    assert text == "a  = 1\nbb = 2\nmap = {\n  x = 1\n}\nc = 3"
