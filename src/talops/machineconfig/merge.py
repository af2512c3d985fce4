"""Strategic merge by Talos' own rules. Nothing is changed in place: configs share their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.machineconfig.schema.types import (
    ListOf,
    Lists,
    MapOf,
    Special,
    Struct,
    Type,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def merge(left: Any, right: Any, kind: Type, path: str = "") -> Any:
    """`right` over `left`: scalars override, maps go deeper, lists grow."""
    if right is None:
        return left
    if isinstance(kind, (Struct, MapOf)):
        return _maps({} if left is None else left, right, kind, path)
    if isinstance(kind, Special):
        return _SPECIAL[kind](left, right, path)
    if left is None:
        return right
    if isinstance(kind, ListOf):
        return _lists(left, right, kind, path)
    return left if _is_zero(right) else right


def _is_zero(value: Any) -> bool:
    """Talos cannot tell "" and 0 from "not written"; false it can."""
    return value in ("", 0) and not isinstance(value, bool)


def _mapping(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TalopsError(f"{path or 'the patch'} must be a mapping")
    return value


def _maps(left: Any, right: Any, kind: Struct | MapOf, path: str) -> dict[str, Any]:
    merged = dict(_mapping(left, path))
    for key, value in _mapping(right, path).items():
        inner = kind.value if isinstance(kind, MapOf) else kind.fields.get(key, Special.FREE)
        merged[key] = merge(merged.get(key), value, inner, f"{path}.{key}".lstrip("."))
    return merged


def _lists(left: Any, right: Any, kind: ListOf, path: str) -> list[Any]:
    if not isinstance(left, list) or not isinstance(right, list):
        raise TalopsError(f"{path} must be a list")
    if kind.rule is Lists.REPLACE:
        return right
    if not kind.key:
        return [*left, *right]
    merged = list(left)
    for item in right:
        place = _same_item(merged, item, kind.key)
        if place is None:
            merged.append(item)
        elif kind.swap:
            merged[place] = item
        else:
            merged[place] = merge(merged[place], item, kind.item, f"{path}[{place}]")
    return merged


def _same_item(items: list[Any], wanted: Any, keys: tuple[str, ...]) -> int | None:
    if not isinstance(wanted, dict):
        return None
    key = next((k for k in keys if wanted.get(k)), None)
    if key is None:
        return None
    for place, item in enumerate(items):
        if isinstance(item, dict) and item.get(key) == wanted[key]:
            return place
    return None


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
