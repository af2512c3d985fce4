"""What talops relies on in the JSON of another system, checked where it arrives.

A shape is a type, several types in brackets, a list with one shape for all items, or a mapping:
`{"name": str, "size?": NUMBER}` has these keys, where `?` marks one that may be missing, and
`{ANY: shape}` has one shape for all its values. Other keys are not looked at. Null means missing.
"""

from __future__ import annotations

from typing import Any

Shape = Any
ANY = object()
# Languages that do not tell numbers from text send either.
NUMBER = object()
TEXT = (str, int, float)
SCALAR = (str, int, float, bool)
# Something, and nothing more is known about it.
ANYTHING = object
_LARGEST = 2**64
_DIGITS = 20


def misfit(value: Any, shape: Shape, place: str = "") -> str | None:
    """What does not fit, with its place, like `[3].name is missing`; None if everything does."""
    if isinstance(shape, list):
        return _list(value, shape[0], place)
    if isinstance(shape, dict):
        return _mapping(value, shape, place)
    fits = _is_number(value) if shape is NUMBER else isinstance(value, shape)
    return None if fits else f"{place or 'the answer'} is not {_name(shape)}"


def without_nulls(value: Any) -> Any:
    """Null means missing, also to what reads the value later."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value]
    return value


def _list(value: Any, shape: Shape, place: str) -> str | None:
    if not isinstance(value, list):
        return f"{place or 'the answer'} is not a list"
    found = (misfit(item, shape, f"{place}[{at}]") for at, item in enumerate(value))
    return next((each for each in found if each), None)


def _mapping(value: Any, shape: dict[Any, Shape], place: str) -> str | None:
    if not isinstance(value, dict):
        return f"{place or 'the answer'} is not an object"
    for key, inner in shape.items():
        names = [f"{name}?" for name in value] if key is ANY else [key]
        for name in names:
            if found := _member(value, name, inner, place):
                return found
    return None


def _member(value: dict[str, Any], key: str, shape: Shape, place: str) -> str | None:
    name = key.removesuffix("?")
    here = f"{place}.{name}" if place else name
    inner = value.get(name)
    if inner is not None:
        return misfit(inner, shape, here)
    return None if key.endswith("?") else f"{here} is missing"


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        digits = value.removeprefix("-")
        return digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS
    return isinstance(value, int | float) and -_LARGEST < value < _LARGEST


def _name(shape: Shape) -> str:
    if shape is NUMBER or shape is int:
        return "a number"
    return {str: "text", bool: "true or false"}.get(shape, "a plain value")
