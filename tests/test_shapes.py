"""What a shape accepts, and where it says that something does not fit."""

from __future__ import annotations

from typing import Any

import pytest

from talops.shapes import ANY, NUMBER, SCALAR, TEXT, Shape, misfit, without_nulls

ROW = {"name": str, "size?": NUMBER, "tags?": [str]}


@pytest.mark.parametrize(
    ("value", "shape", "wrong"),
    [
        ({"name": "a", "more": [1]}, ROW, None),
        ({"name": "a", "size": "12", "tags": ["x"]}, ROW, None),
        ({"name": "a", "size": None}, ROW, None),
        ({}, ROW, "name is missing"),
        ({"name": None}, ROW, "name is missing"),
        ({"name": 5}, ROW, "name is not text"),
        ({"name": "a", "size": "1e9"}, ROW, "size is not a number"),
        ({"name": "a", "size": 10**30}, ROW, "size is not a number"),
        ({"name": "a", "size": float("nan")}, ROW, "size is not a number"),
        ({"name": "a", "tags": "x"}, ROW, "tags is not a list"),
        ({"name": "a", "tags": ["x", 1]}, ROW, "tags[1] is not text"),
        ([{"name": "a"}, []], [ROW], "[1] is not an object"),
        ("no", [ROW], "the answer is not a list"),
        ({"a": 1, "b": "x"}, {ANY: SCALAR}, None),
        ({"a": 1, "b": {}}, {ANY: SCALAR}, "b is not a plain value"),
        (5, TEXT, None),
        ("-12", NUMBER, None),
    ],
)
def test_misfits(value: Any, shape: Shape, wrong: str | None) -> None:
    """With the place of the first value that does not fit."""
    assert misfit(value, shape) == wrong


def test_null_means_missing() -> None:
    """Also inside of lists and objects; an item of a list keeps its place."""
    assert without_nulls({"a": None, "b": [{"c": None}, None]}) == {"b": [{}, None]}
