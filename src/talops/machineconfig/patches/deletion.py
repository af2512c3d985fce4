"""`$patch: delete`: on a field, on an item of a list, on a whole document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.machineconfig.schema.types import ListOf, MapOf, Scalar, Special, Struct

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from talops.machineconfig.schema.types import Type

MARK = "$patch"
_EMPTY = object()
_COMPARED = (Scalar.TEXT, Scalar.ANY)
# Remove a document that has no other fields left.
_BARE_KEYS = frozenset({"version", "kind", "name"})


@dataclass(frozen=True)
class Deletion:
    """`path` to a field; with `key` and `value`, to the list item that has this value."""

    path: tuple[str, ...]
    key: str | None = None
    value: str = ""

    def __str__(self) -> str:
        item = f"[{self.key}={self.value}]" if self.key else ""
        return ".".join(self.path) + item


def split(document: dict[str, Any]) -> tuple[list[Deletion], dict[str, Any] | None]:
    """The deletions of a patch document, and the rest of it to merge."""
    found: list[Deletion] = []
    rest = _without(document, (), found, in_list=False)
    if rest is _EMPTY or (found and rest.keys() <= _BARE_KEYS):
        return found, None
    return found, rest


def _without(value: Any, path: tuple[str, ...], found: list[Deletion], *, in_list: bool) -> Any:
    if isinstance(value, list):
        return _list_without(value, path, found)
    if not isinstance(value, dict):
        return value
    if value.get(MARK) == "delete":
        found.append(_item(value, path) if in_list else Deletion(_checked(path)))
        return _EMPTY
    kept = {k: _without(v, (*path, k), found, in_list=False) for k, v in value.items()}
    rest = {k: v for k, v in kept.items() if v is not _EMPTY}
    return _EMPTY if value and not rest else rest


def _list_without(items: list[Any], path: tuple[str, ...], found: list[Deletion]) -> Any:
    kept = [_without(item, (*path, "[]"), found, in_list=True) for item in items]
    rest = [item for item in kept if item is not _EMPTY]
    return _EMPTY if items and not rest else rest


def _checked(path: tuple[str, ...]) -> tuple[str, ...]:
    if "[]" in path:
        raise TalopsError(f"cannot delete an inner key in '{'.'.join(path)}'")
    return path


def _item(item: dict[str, Any], path: tuple[str, ...]) -> Deletion:
    for key, value in item.items():
        if key != MARK:
            return Deletion(_checked(path[:-1]), key, str(value))
    raise TalopsError(
        f"{'.'.join(path[:-1])}: the item to delete is not specified",
        hint=f"add a field of the item next to `{MARK}: delete`",
    )


def apply(deletion: Deletion, document: dict[str, Any], fields: Struct) -> dict[str, Any]:
    """The document without the deleted part; deleting a missing part is an error."""
    steps = list(_walk(document, deletion, fields))
    holder, kind = steps[-1]
    name = deletion.path[-1]
    if deletion.key is not None:
        changed = {**holder, name: _remove_item(holder.get(name), deletion, _inner(kind, name))}
    else:
        if name not in _deletable(holder, kind):
            raise _missing(deletion)
        changed = {key: value for key, value in holder.items() if key != name}
    for (parent, _), part in zip(reversed(steps[:-1]), reversed(deletion.path[:-1]), strict=True):
        changed = {**parent, part: changed}
    return changed


def _walk(
    document: dict[str, Any], deletion: Deletion, fields: Struct
) -> Iterator[tuple[dict[str, Any], Type]]:
    """Every mapping along the path to the field, with its type."""
    value: Any = document
    kind: Type = fields
    for part in deletion.path:
        if not isinstance(value, dict):
            raise _missing(deletion)
        yield value, kind
        value, kind = value.get(part), _inner(kind, part)


def _deletable(holder: dict[str, Any], kind: Type) -> Collection[str]:
    if _is_sealed(kind):
        return ()
    return kind.fields if isinstance(kind, Struct) else holder


def _is_sealed(kind: Type) -> bool:
    return kind is Special.PAIR or (isinstance(kind, Struct) and kind.sealed)


def _inner(kind: Type, part: str) -> Type:
    if isinstance(kind, Struct):
        return kind.fields.get(part, Special.FREE)
    return kind.value if isinstance(kind, MapOf) else Special.FREE


def _remove_item(items: Any, deletion: Deletion, kind: Type) -> list[Any]:
    """Talos compares only strings: it does not match items by numbers or booleans."""
    assert deletion.key
    item_kind = kind.item if isinstance(kind, ListOf) else Special.FREE
    if _inner(item_kind, deletion.key) in _COMPARED and not _is_sealed(item_kind):
        for place, item in enumerate(items if isinstance(items, list) else []):
            if isinstance(item, dict) and str(item.get(deletion.key)) == deletion.value:
                return [*items[:place], *items[place + 1 :]]
    raise _missing(deletion)


def _missing(deletion: Deletion) -> TalopsError:
    return TalopsError(
        f"patch delete: {deletion} does not exist",
        hint="remove the `$patch: delete`, or correct its path",
    )
