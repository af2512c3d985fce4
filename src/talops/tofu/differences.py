"""Which attributes a planned change touches; blocks are matched by what identifies them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.tofu.plan import Change

UNKNOWN = "(known after apply)"
HIDDEN = "(sensitive)"
# The order of a list of blocks is arbitrary; the key identifies a block.
IDENTITY = {"disk": "interface", "hostpci": "device", "numa": "device"}


@dataclass(frozen=True)
class Difference:
    """`path` names an identified block by its key: `disk.scsi0.size`."""

    path: tuple[str, ...]
    before: Any
    after: Any

    @property
    def attribute(self) -> str:
        return ".".join(self.path)


def differences(change: Change) -> list[Difference]:
    hidden = (change.sensitive[0], change.sensitive[1])
    return list(_compare((), change.before, change.after, change.unknown, hidden))


def _compare(
    path: tuple[str, ...], before: Any, after: Any, unknown: Any, hidden: tuple[Any, Any]
) -> Iterator[Difference]:
    if unknown is True:
        yield Difference(path, _shown(before, hidden[0]), UNKNOWN)
    elif _empty(before) and _empty(after) and not _any(unknown):
        return
    elif isinstance(before, dict) or isinstance(after, dict):
        yield from _compare_objects(path, before, after, unknown, hidden)
    elif isinstance(before, list) or isinstance(after, list):
        yield from _compare_lists(path, before, after, unknown, hidden)
    elif before != after:
        yield Difference(path, _shown(before, hidden[0]), _shown(after, hidden[1]))


def _compare_objects(
    path: tuple[str, ...], before: Any, after: Any, unknown: Any, hidden: tuple[Any, Any]
) -> Iterator[Difference]:
    old, new, open_ = _dict(before), _dict(after), _dict(unknown)
    for key in sorted({*old, *new, *open_}):
        yield from _compare(
            (*path, key),
            old.get(key),
            new.get(key),
            open_.get(key, False),
            (_inside(hidden[0], key), _inside(hidden[1], key)),
        )


def _compare_lists(
    path: tuple[str, ...], before: Any, after: Any, unknown: Any, hidden: tuple[Any, Any]
) -> Iterator[Difference]:
    sides = [_by_key(path, side) for side in (before, after)]
    marks = [
        _follow_keys(path, side, mark)
        for side, mark in ((after, unknown), (before, hidden[0]), (after, hidden[1]))
    ]
    yield from _compare_objects(path, sides[0], sides[1], marks[0], (marks[1], marks[2]))


def _by_key(path: tuple[str, ...], side: Any) -> dict[str, Any]:
    return {_key(path, index, item): item for index, item in enumerate(_list(side))}


def _follow_keys(path: tuple[str, ...], side: Any, mark: Any) -> Any:
    """Marks (unknown, sensitive) are a list parallel to the values: give them the same keys."""
    if not isinstance(mark, list):
        return mark if mark is True else {}
    items = _list(side)
    return {
        _key(path, index, items[index] if index < len(items) else None): item
        for index, item in enumerate(mark)
    }


def _key(path: tuple[str, ...], index: int, item: Any) -> str:
    identity = IDENTITY.get(path[-1]) if path else None
    if identity and isinstance(item, dict) and isinstance(item.get(identity), str):
        return str(item[identity])
    return str(index)


def _inside(mark: Any, key: str) -> Any:
    return True if mark is True else _dict(mark).get(key, False)


def _shown(value: Any, hidden: Any) -> Any:
    return HIDDEN if _any(hidden) else value


def _any(mark: Any) -> bool:
    if isinstance(mark, dict):
        return any(map(_any, mark.values()))
    if isinstance(mark, list):
        return any(map(_any, mark))
    return mark is True


def _empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
