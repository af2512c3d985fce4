"""Strategic merge with the rules of Talos. Nothing is changed in place: configs share values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.machineconfig.schema.types import (
    ListOf,
    Lists,
    MapOf,
    Scalar,
    Special,
    Struct,
    Type,
    ZeroValued,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


# Types for which 0 is an ordinary value.
_EXACT = frozenset({Scalar.COUNT, Scalar.LAST, Scalar.BYTES})


def merge(left: Any, right: Any, kind: Type, path: str = "") -> Any:
    """Merge `right` into `left`: scalars override, maps go deeper, lists grow."""
    if right is None:
        return left
    if isinstance(kind, Special):
        return _SPECIAL[kind](left, right, path)
    if isinstance(kind, ListOf):
        return _lists(left, right, kind, path)
    if left is None:  # a new section is copied unchanged
        return _mapping(right, path) if isinstance(kind, (Struct, MapOf)) else right
    if isinstance(kind, (Struct, MapOf)):
        return _maps(left, right, kind, path)
    return _scalar(left, right, kind)


def _scalar(left: Any, right: Any, kind: Scalar | ZeroValued) -> Any:
    if kind is Scalar.SIZE:
        return left if right == "" or (_is_percent(right) and not _is_percent(left)) else right
    return left if _is_zero(right, kind) else right


def _is_zero(value: Any, kind: Type = Scalar.ANY) -> bool:
    """Talos treats "" and 0 as not set; false is a value, and so is 0 for some fields."""
    if isinstance(kind, ZeroValued) and value == kind.zero:
        return True
    return value in ("", 0) and not isinstance(value, bool) and kind not in _EXACT


def _is_percent(size: Any) -> bool:
    return "%" in str(size)


def _mapping(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TalopsError(f"{path or 'the patch'} must be a mapping")
    return value


def _maps(left: Any, right: Any, kind: Struct | MapOf, path: str) -> dict[str, Any]:
    merged = dict(_mapping(left, path))
    for key, value in _mapping(right, path).items():
        inner = kind.value if isinstance(kind, MapOf) else kind.fields.get(key, Special.FREE)
        merged[key] = merge(merged.get(key), value, inner, f"{path}.{key}".lstrip("."))
    return _forgetting(merged, right, kind.fields) if isinstance(kind, Struct) else merged


def _forgetting(
    merged: dict[str, Any], right: dict[str, Any], fields: Mapping[str, Type]
) -> dict[str, Any]:
    """Remove fields that always come from the last document, if it does not set them."""
    for key, kind in fields.items():
        if right.get(key) is not None or key not in merged:
            continue
        # If its whole section is missing, a flag stays; a selector is removed.
        if kind is Scalar.LAST or (kind is Scalar.SWITCH and right):
            del merged[key]
        elif isinstance(kind, Struct) and isinstance(merged[key], dict):
            merged[key] = _forgetting(dict(merged[key]), {}, kind.fields)
    return merged


def _lists(left: Any, right: Any, kind: ListOf, path: str) -> list[Any]:
    left = [] if left is None else left
    if not isinstance(left, list) or not isinstance(right, list):
        raise TalopsError(f"{path} must be a list")
    if kind.rule is Lists.REPLACE:
        return right
    if not kind.key:
        return [*left, *right]
    return _swapped(left, right, kind) if kind.swap else _matched(left, right, kind, path)


def _matched(left: list[Any], right: list[Any], kind: ListOf, path: str) -> list[Any]:
    merged = list(left)
    for item in right:
        place = _same_item(merged, item, kind.key)
        if place is None:
            merged.append(item)
        else:
            merged[place] = merge(merged[place], item, kind.item, f"{path}[{place}]")
    return merged


def _swapped(left: list[Any], right: list[Any], kind: ListOf) -> list[Any]:
    """The last of several equal items is replaced; a new item is appended."""
    merged = list(left)
    for item in right:
        place = _same_item(left[::-1], item, kind.key)
        if place is None:
            merged.append(item)
        else:
            merged[len(left) - 1 - place] = item
    return merged


def _same_item(items: list[Any], wanted: Any, keys: tuple[str, ...]) -> int | None:
    """With one key, items that both lack it match; with several, the first one set counts."""
    if not isinstance(wanted, dict):
        return None
    given = [key for key in keys if wanted.get(key)] or (keys if len(keys) == 1 else ())
    for place, item in enumerate(items):
        if isinstance(item, dict) and any(_same(item, wanted, key) for key in given[:1]):
            return place
    return None


def _same(item: dict[str, Any], wanted: dict[str, Any], key: str) -> bool:
    return bool((item.get(key) or None) == (wanted.get(key) or None))


def _free(left: Any, right: Any, path: str) -> Any:
    if left is None:
        return right
    if type(left) is not type(right):
        raise TalopsError(
            f"{path}: cannot merge {_name(right)} into {_name(left)}",
            hint="delete the old value first with `$patch: delete`",
        )
    if isinstance(left, list):
        return [*left, *right]
    if isinstance(left, dict):
        return _maps(left, right, MapOf(Special.FREE), path)
    return left if _is_zero(right) else right


def _newest(left: Any, right: Any, _: str) -> Any:
    return right or left


def _args(left: Any, right: Any, path: str) -> dict[str, Any]:
    return {**_mapping(left or {}, path), **_mapping(right, path)}


def _pair(_: Any, right: Any, path: str) -> dict[str, Any]:
    given = _mapping(right, path)
    return {**given, "crt": given.get("crt") or "", "key": given.get("key") or ""}


def _name(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "a text", bool: "a flag"}
    return names.get(type(value), "a number")


_SPECIAL: dict[Special, Callable[[Any, Any, str], Any]] = {
    Special.FREE: _free,
    Special.NEWEST: _newest,
    Special.ARGS: _args,
    Special.PAIR: _pair,
}
