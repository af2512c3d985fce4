"""The methods of the middleware, with the role that each requires."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from talops.lab.truenas.entries import dataset_entry, pool_entry
from talops.lab.truenas.errors import ValidationErrors
from talops.lab.truenas.filters import apply_filters
from talops.lab.truenas.zfs import ZfsDataset

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.lab.truenas.zfs import Zfs

CHOICES = {
    "compression": "ON OFF LZ4 GZIP GZIP-1 GZIP-9 ZSTD ZSTD-FAST ZLE LZJB "
    + " ".join(f"ZSTD-{n}" for n in range(1, 20)),
    "atime": "ON OFF",
    "sync": "STANDARD ALWAYS DISABLED",
    "deduplication": "ON VERIFY OFF",
    "exec": "ON OFF",
    "snapdir": "DISABLED VISIBLE HIDDEN",
    "checksum": "ON OFF FLETCHER2 FLETCHER4 SHA256 SHA512 SKEIN EDONR BLAKE3",
    "readonly": "ON OFF",
    "acltype": "OFF NFSV4 POSIX",
    "aclmode": "PASSTHROUGH RESTRICTED DISCARD",
}
RECORD_SIZES = frozenset(
    {
        *("512", "512B", "1K", "2K", "4K", "8K", "16K", "32K", "64K"),
        *("128K", "256K", "512K", "1M", "2M", "4M", "8M", "16M"),
    }
)
PLAIN = frozenset({"name", "type", "share_type", "comments", "quota", "copies", "recordsize"})
CREATE_ONLY = frozenset({"name", "type", "share_type"})
_NAME = re.compile(r"[A-Za-z][\w.:-]*(/[\w.: -]+)+")
SMALLEST_QUOTA = 1024**3


@dataclass(frozen=True)
class Method:
    role: str
    run: Callable[..., Any]


class Methods:
    def __init__(self, zfs: Zfs) -> None:
        self._zfs = zfs
        self.table = {
            "pool.query": Method("POOL_READ", self._pools),
            "pool.dataset.query": Method("DATASET_READ", self._datasets),
            "pool.dataset.create": Method("DATASET_WRITE", self._create),
            "pool.dataset.update": Method("DATASET_WRITE", self._update),
        }

    def _pools(self, filters: Any = None, options: Any = None) -> Any:
        rows = [pool_entry(self._zfs, name) for name in self._zfs.pools]
        return apply_filters(rows, filters, options)

    def _datasets(self, filters: Any = None, options: Any = None) -> Any:
        extra = (options or {}).get("extra") or {}
        children = bool(extra.get("retrieve_children", True))
        names = self._zfs.datasets.keys()
        rows = [dataset_entry(self._zfs, name, children=children) for name in names]
        return apply_filters(rows, filters, options)

    def _create(self, data: Any) -> Any:
        schema = "pool_dataset_create"
        wrong = _checked(schema, data, frozenset())
        name = str(data.get("name", ""))
        if "name" not in data:
            wrong.add(f"{schema}.name", "attribute required")
        elif "/" not in name:
            wrong.add(f"{schema}.name", "You need a full name, e.g. pool/newdataset")
        elif not _NAME.fullmatch(name):
            wrong.add(f"{schema}.name", "Invalid dataset name")
        elif name.rpartition("/")[0] not in self._zfs.datasets:
            wrong.add(f"{schema}.name", "Parent dataset does not exist for specified name")
        elif name in self._zfs.datasets:
            wrong.add(f"{schema}.name", f"Path /mnt/{name} already exists")
        wrong.check()
        self._zfs.create(_merged(ZfsDataset(name), data))
        return dataset_entry(self._zfs, name, children=True)

    def _update(self, name: Any, data: Any) -> Any:
        schema = "pool_dataset_update"
        _checked(schema, data, CREATE_ONLY).check()
        found = self._zfs.datasets.get(str(name))
        if found is None:
            raise ValidationErrors(("id", f"{name} does not exist", errno.ENOENT))
        self._zfs.update(_merged(found, data))
        return dataset_entry(self._zfs, found.name, children=True)


def _checked(schema: str, data: Any, refused: frozenset[str]) -> ValidationErrors:
    """All errors of the fields at once."""
    wrong = ValidationErrors()
    if not isinstance(data, dict):
        wrong.add(schema, "A dict was expected")
        raise wrong
    for field, value in data.items():
        if field in refused or field not in PLAIN | CHOICES.keys():
            wrong.add(f"{schema}.{field}", "Field was not expected")
        elif problem := _problem(field, value):
            wrong.add(f"{schema}.{field}", problem)
    return wrong


def _problem(field: str, value: Any) -> str | None:
    if value == "INHERIT" and field not in PLAIN - {"recordsize", "copies"}:
        return None
    if field in CHOICES and value not in CHOICES[field].split():
        return f"Invalid choice: {value}"
    if field == "recordsize" and value not in RECORD_SIZES:
        return f"{value!r} is an invalid recordsize."
    if field == "copies" and value not in {1, 2, 3}:
        return "Copies must be between 1 and 3"
    if field == "quota" and not _is_quota(value):
        return f"Should be greater or equal than {SMALLEST_QUOTA}"
    return None


def _is_quota(value: Any) -> bool:
    return value is None or (isinstance(value, int) and (value == 0 or value >= SMALLEST_QUOTA))


def _merged(row: ZfsDataset, data: dict[str, Any]) -> ZfsDataset:
    local = dict(row.local)
    for field, value in data.items():
        if value == "INHERIT":
            local.pop(field, None)
        elif field in CHOICES or field in {"recordsize", "copies"}:
            local[field] = str(value) if field in {"recordsize", "copies"} else str(value).lower()
    quota = int(data["quota"] or 0) if "quota" in data else row.quota
    return replace(row, local=local, quota=quota, comments=data.get("comments", row.comments))
