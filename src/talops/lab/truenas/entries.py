"""Pools and datasets as the API shows them: every property with parsed, raw and display value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.truenas.zfs import DEFAULTS

if TYPE_CHECKING:
    from talops.lab.truenas.zfs import Zfs

Entry = dict[str, Any]

AS_SPOKEN = frozenset({"recordsize", "copies"})
_UNITS = {"K": 1024, "M": 1024**2}


def pool_entry(zfs: Zfs, name: str) -> Entry:
    size, used = zfs.size(name), zfs.used(name)
    free = 0 if zfs.available(name) == 0 else size - used
    return {
        "id": list(zfs.pools).index(name) + 1,
        "name": name,
        "guid": str(abs(hash_of(name))),
        "path": f"/mnt/{name}",
        "status": "ONLINE",
        "healthy": True,
        "warning": False,
        "status_code": "OK",
        "status_detail": None,
        "size": size,
        "allocated": size - free,
        "free": free,
        "freeing": 0,
        "fragmentation": "1",
        "autotrim": _property("off", "off", "off", "DEFAULT"),
        "topology": {"data": [], "log": [], "cache": [], "spare": [], "special": [], "dedup": []},
    }


def hash_of(name: str) -> int:
    return int.from_bytes(name.encode().ljust(8, b"\0")[:8], "big")


def dataset_entry(zfs: Zfs, name: str, *, children: bool) -> Entry:
    row = zfs.datasets[name]
    below = [n for n in zfs.datasets.keys() if n.rpartition("/")[0] == name]  # noqa: SIM118  (a table, not a mapping)
    quota = row.quota or None
    return {
        "id": name,
        "type": "FILESYSTEM",
        "name": name,
        "pool": name.split("/", maxsplit=1)[0],
        "encrypted": False,
        "encryption_root": None,
        "key_loaded": False,
        "locked": False,
        "children": [dataset_entry(zfs, n, children=True) for n in below] if children else [],
        "user_properties": {},
        "mountpoint": f"/mnt/{name}",
        "comments": _property(row.comments, row.comments, row.comments, "LOCAL"),
        "quota": _property(quota, str(row.quota), _spoken(quota), "LOCAL" if quota else "DEFAULT"),
        "used": _count(zfs.used(name)),
        "available": _count(zfs.available(name)),
        **{prop: _shown(*zfs.value(name, prop), prop) for prop in DEFAULTS},
    }


def _shown(value: str, source: str, name: str) -> Entry:
    if name == "recordsize":
        count = number(value)
        return _property(count, str(count), value, source)
    return _property(value, value, value if name in AS_SPOKEN else value.upper(), source)


def number(text: str) -> int:
    return int(text[:-1]) * _UNITS[text[-1]] if text[-1] in _UNITS else int(text)


def _count(value: int) -> Entry:
    return _property(value, str(value), _spoken(value), "NONE")


def _property(parsed: Any, raw: str, value: Any, source: str) -> Entry:
    return {
        "parsed": parsed,
        "rawvalue": raw,
        "value": value,
        "source": source,
        "source_info": None,
    }


def _spoken(value: int | None) -> str | None:
    if value is None:
        return None
    size = float(value)
    for unit in ("B", "K", "M", "G", "T"):
        if size < 1024 or unit == "T":  # noqa: PLR2004  (a kibibyte)
            return f"{size:.4g}{unit}"
        size /= 1024
    raise AssertionError
