"""What the difference of two configs costs a running node. Pure; `cost_table` has the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.machineconfig.cost_table import KINDS, MAIN, Cost, Row
from talops.machineconfig.patches.identity import identify
from talops.machineconfig.validation.view import View, at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from talops.machineconfig.patches.identity import Identity

    Document = dict[str, Any]

_HEADER = frozenset({"apiVersion", "kind", "name"})
_EMPTY: tuple[Any, ...] = (None, {}, [], "")
_NETWORK = "net."


@dataclass(frozen=True)
class Consequence:
    """`path`: where the setting is, without its value. `service`: what restarts."""

    path: str
    cost: Cost
    service: str = ""


def consequences(before: Sequence[Document], after: Sequence[Document]) -> tuple[Consequence, ...]:
    """Of every setting that differs and costs anything, sorted by path; a setting that moved to
    another document may be listed, although its value is the same.
    """
    old, new = _by_identity(before), _by_identity(after)
    found = set()
    for identity in old.keys() | new.keys():
        found |= {*_of_document(identity, old.get(identity, {}), new.get(identity, {}))}
    return tuple(sorted({*found, *_fixed(before, after)}, key=lambda one: one.path))


def row_of(kind: str, path: str) -> Row | None:
    """The row of a setting; None if the table does not contain it."""
    rows = MAIN if kind == "" else KINDS.get(kind)
    if rows is None or isinstance(rows, Row):
        return rows
    matching = [key for key in rows if path == key or path.startswith(f"{key}.")]
    return rows[max(matching, key=len)] if matching else None


def _by_identity(documents: Sequence[Document]) -> dict[Identity, Document]:
    return {identify(document): document for document in documents}


def _of_document(identity: Identity, old: Document, new: Document) -> Iterator[Consequence]:
    if identity.is_main:
        yield from _of_rows("", MAIN, old, new)
        return
    rows = KINDS.get(identity.kind, Row(Cost.CUT))
    if not isinstance(rows, Row):
        yield from _of_rows(f"{identity}.", rows, old, new)
    elif _rest(old) != _rest(new) or bool(old) != bool(new):
        yield from _of_row(str(identity), rows, _rest(old), _rest(new))


def _of_rows(
    prefix: str, rows: Mapping[str, Row], old: Document, new: Document
) -> Iterator[Consequence]:
    for path, row in rows.items():
        inner = [key.removeprefix(f"{path}.") for key in rows if key.startswith(f"{path}.")]
        was, will = _without(at(old, path), inner), _without(at(new, path), inner)
        if was != will and not (was in _EMPTY and will in _EMPTY):
            yield from _of_row(f"{prefix}{path}", row, was, will)


def _of_row(path: str, row: Row, was: Any, will: Any) -> Iterator[Consequence]:
    if row.by_key:
        was, will = _keys(was), _keys(will)
        changed = {key for key in was.keys() | will.keys() if was.get(key) != will.get(key)}
        cutting = sorted(key for key in changed if key.startswith(_NETWORK))
        yield from (Consequence(f"{path}.{key}", row.cost) for key in cutting)
    elif row.service:
        yield Consequence(path, Cost.RESTART, row.service)
    elif row.cost in {Cost.CUT, Cost.REBOOT}:
        yield Consequence(path, row.cost)


def _keys(value: Any) -> dict[str, Any]:
    """Of `sysctls` and of the document `SysctlConfig`."""
    found = value if isinstance(value, dict) else {}
    inner = found.get("params")
    return inner if isinstance(inner, dict) else found


def _without(value: Any, inner: Sequence[str]) -> Any:
    """A section without the parts that have their own rows."""
    if not isinstance(value, dict):
        return value
    first = {path for path in inner if "." not in path}
    return {key: part for key, part in value.items() if key not in first}


def _rest(document: Document) -> Document:
    return {key: value for key, value in document.items() if key not in _HEADER}


def _fixed(before: Sequence[Document], after: Sequence[Document]) -> Iterator[Consequence]:
    """What only another installation, or another name, can change."""
    old, new = View.of(before), View.of(after)
    if old is None or new is None:
        return
    was, will = _decided(old), _decided(new)
    for path in was:
        if was[path] != will[path]:
            yield Consequence(path, Cost.FIXED)


def _decided(view: View) -> dict[str, Any]:
    """At either place that Talos allows; with the defaults of Talos."""
    return {
        "machine.type": "worker" if view.worker else "controlplane",
        "hostname": view.either("machine.network.hostname", "HostnameConfig", "hostname") or "",
        "registerWithFQDN": bool(
            view.either("machine.kubelet.registerWithFQDN", "KubeNodeConfig", "registerWithFQDN")
        ),
        "encryption of STATE": _provider(view, "state"),
        "encryption of EPHEMERAL": _provider(view, "ephemeral"),
    }


def _provider(view: View, volume: str) -> str:
    """Talos does not open a volume that is not encrypted in the configured way."""
    found = at(view.main, f"machine.systemDiskEncryption.{volume}.provider")
    for document in view.kind("VolumeConfig"):
        if document.get("name") == volume.upper():
            found = found or at(document, "encryption.provider")
    return str(found or "none")
