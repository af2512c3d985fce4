"""Which version of the library judges the configs of a contract, and how two of them compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig.patches.identity import identify

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# A library reads older contracts, but writes and validates the newer ones in other documents.
JUDGES = {"1.12": "1.13", "1.13": "1.13", "1.14": "1.14"}


def differences(left: Iterable[Any], right: Iterable[Any]) -> dict[str, tuple[Any, Any]]:
    """Every leaf that differs between two configs, whatever the order of their documents."""
    first, second = dict(_leaves(left)), dict(_leaves(right))
    return {
        path: (first.get(path), second.get(path))
        for path in [*first, *(path for path in second if path not in first)]
        if (path in first) != (path in second) or not same(first[path], second[path])
    }


def same(left: Any, right: Any) -> bool:
    """Python takes true for 1; YAML does not."""
    return type(left) is type(right) and bool(left == right)


def _leaves(documents: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for document in documents:
        yield from _below(document, str(identify(document)))


def _below(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _below(item, f"{path}.{key}")
    elif isinstance(value, list) and value:
        for place, item in enumerate(value):
            yield from _below(item, f"{path}[{place}]")
    else:
        yield path, value
