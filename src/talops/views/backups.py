"""Backups as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from talops.plural import count
from talops.views.words import ago

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Any

_UNITS = ("B", "KiB", "MiB", "GiB")
_STEP = 1024


def size_text(size: float) -> str:
    """512 B, 1.5 MiB."""
    for unit in _UNITS:
        if size < _STEP or unit == _UNITS[-1]:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _STEP
    raise AssertionError


def backups_table(rows: Sequence[Mapping[str, Any]], now: datetime) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for title in ("BACKUP", "AGE", "SIZE", "OBJECTS", "TALOS", "KUBERNETES", "STATUS"):
        table.add_column(title, no_wrap=True)
    for row in rows:
        if row["created"] is None:
            table.add_row(row["id"], *["-"] * 5, Text(row["problem"], "red"))
            continue
        status = Text(row["problem"], "red") if row["problem"] else Text("complete")
        table.add_row(
            row["id"],
            ago(row["created"], now),
            size_text(row["size"]),
            str(row["objects"]),
            row["talos"],
            row["kubernetes"],
            status,
        )
    return table


def manifest_lines(manifest: Mapping[str, Any], now: datetime, created: datetime) -> Iterator[str]:
    snapshot, sealed, versions = (manifest[name] for name in ("snapshot", "sealed", "versions"))
    yield f"backup     {manifest['id']}"
    yield f"cluster    {manifest['cluster']}"
    yield f"created    {manifest['created']} ({ago(created, now)}), from {manifest['source']}"
    yield f"snapshot   {size_text(snapshot['size'])}, revision {snapshot['revision']}"
    yield f"           sha256:{snapshot['sha256']}"
    if snapshot["copied"]:
        yield "           the database file of a member: without the digest of etcd"
    readers = count(len(sealed["recipients"]), "age key")
    yield f"encrypted  {size_text(sealed['size'])} for {readers}"
    yield from (f"           {recipient}" for recipient in sealed["recipients"])
    yield (
        f"versions   Talos {versions['talos']}, Kubernetes {versions['kubernetes']}, "
        f"etcd {versions['etcd']}, talops {versions['talops']}"
    )
    for reference in (*manifest["inventory"], manifest["secrets"]):
        yield f"file       {reference['file']} sha256:{reference['sha256'][:12]}"
    yield from _state_lines(manifest["states"])
    yield f"objects    {snapshot['keys']} in {count(snapshot['revisions'], 'revision')}"
    width = max(map(len, manifest["kinds"]), default=0)
    for name, kind in manifest["kinds"].items():
        yield f"  {name:<{width}}  {kind['count']:>6}  {kind['hash'][:12]}"


def _state_lines(states: Mapping[str, Any]) -> Iterator[str]:
    if states["unread"]:
        yield f"states     {states['place']}: not read: {states['unread']}"
    for state in states["states"]:
        yield f"state      {state['name']} serial {state['serial']} in {states['place']}"
