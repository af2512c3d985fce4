"""The difference between two configs of a node, as operations that a patch can express."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talops.machineconfig.patches.identity import Identity, fields_of, identify
from talops.machineconfig.schema.types import ListOf, Lists, MapOf, Special, Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from talops.importing.model import Document
    from talops.machineconfig.contract import Contract
    from talops.machineconfig.schema.types import Type

Path = tuple[str, ...]
HEADER = ("apiVersion", "kind", "name")
_MISSING = object()


@dataclass(frozen=True)
class Operation:
    """`delete`: remove what is there first. `value` is JSON: comparable; None sets nothing."""

    identity: Identity
    path: Path
    delete: bool
    value: str | None = field(default=None, repr=False)


def delta(
    base: Sequence[Document], target: Sequence[Document], contract: Contract
) -> tuple[Operation, ...]:
    """What turns `base` into `target`, document by document."""
    old, new = _by_identity(base), _by_identity(target)
    found: list[Operation] = []
    for identity in new:
        if identity not in old:
            # Kept even without any setting: its presence alone can be a setting.
            found.append(Operation(identity, (), delete=False, value="{}"))
        kind: Type = fields_of(identity, contract) or Special.FREE
        found += _of_maps(identity, (), _body(old.get(identity)), _body(new[identity]), kind)
    found += [Operation(identity, (), delete=True) for identity in old if identity not in new]
    return tuple(found)


def empty(value: Any) -> bool:
    """Talos does not distinguish an empty section from a missing one."""
    if isinstance(value, dict):
        return all(empty(item) for item in value.values())
    return value is None or value == []


def same(left: Any, right: Any) -> bool:
    """Python takes true for 1; YAML does not."""
    if isinstance(left, dict) and isinstance(right, dict):
        mine = {key: value for key, value in left.items() if not empty(value)}
        theirs = {key: value for key, value in right.items() if not empty(value)}
        return mine.keys() == theirs.keys() and all(same(mine[k], theirs[k]) for k in mine)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same_item, left, right))
    return type(left) is type(right) and bool(left == right)


def _same_item(left: Any, right: Any) -> bool:
    """In an item of a list, an empty mapping says which kind it is, like `tpm: {}`."""
    if isinstance(left, dict) and isinstance(right, dict):
        mine = {key: value for key, value in left.items() if value is not None}
        theirs = {key: value for key, value in right.items() if value is not None}
        return mine.keys() == theirs.keys() and all(_same_item(mine[k], theirs[k]) for k in mine)
    return same(left, right)


def _by_identity(documents: Iterable[Document]) -> dict[Identity, Document]:
    return {identify(document): document for document in documents}


def _body(document: Document | None) -> Document:
    return {key: value for key, value in (document or {}).items() if key not in HEADER}


def _of_maps(
    identity: Identity, path: Path, old: Document, new: Document, kind: Type
) -> Iterator[Operation]:
    for key in dict.fromkeys([*old, *new]):
        was, will = old.get(key, _MISSING), new.get(key, _MISSING)
        was = _MISSING if empty(was) else was
        will = _MISSING if empty(will) else will
        if was is will:
            continue
        yield from _of_values(identity, (*path, key), was, will, inner(kind, key))


def inner(kind: Type, key: str) -> Type:
    if isinstance(kind, Struct):
        return kind.fields.get(key, Special.FREE)
    return kind.value if isinstance(kind, MapOf) else Special.FREE


def _of_values(
    identity: Identity, path: Path, was: Any, will: Any, kind: Type
) -> Iterator[Operation]:
    if will is _MISSING:
        yield Operation(identity, path, delete=True)
    elif isinstance(will, dict) and not _atomic(kind) and (was is _MISSING or _is_map(was)):
        yield from _of_maps(identity, path, {} if was is _MISSING else was, will, kind)
    elif was is _MISSING:
        yield Operation(identity, path, delete=False, value=json.dumps(will))
    elif not (_same_pair(was, will) if kind is Special.PAIR else same(was, will)):
        yield Operation(identity, path, _must_go_first(was, will, kind), json.dumps(will))


def _same_pair(left: Any, right: Any) -> bool:
    """Workers have the certificate of a CA with an empty key, or without one."""
    return same({"key": "", **left}, {"key": "", **right})


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)


def _atomic(kind: Type) -> bool:
    """Values that Talos replaces, or deletes, only as a whole."""
    whole = kind in {Special.PAIR, Special.NEWEST} if isinstance(kind, Special) else False
    return whole or (isinstance(kind, Struct) and kind.sealed)


def _must_go_first(was: Any, will: Any, kind: Type) -> bool:
    """Lists grow when they are merged, and an empty text is taken for a missing one."""
    if isinstance(kind, ListOf):
        return kind.rule is not Lists.REPLACE
    if isinstance(kind, Special):
        return kind is Special.FREE and (type(was) is not type(will) or isinstance(will, list))
    return isinstance(will, (dict, list)) or will in ("", 0)
