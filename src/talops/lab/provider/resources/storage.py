"""proxmox_storage_*: storages of the datacenter, one class for five kinds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talops.lab.provider import options
from talops.lab.provider.api import ApiError
from talops.lab.provider.kinds import Call, Resource
from talops.lab.provider.schema import Attribute, Block, NestedBlock
from talops.lab.provider.validation import at_least

if TYPE_CHECKING:
    from talops.lab.provider.values import Values

_STRINGS = ["set", "string"]
_KEEP = ("last", "hourly", "daily", "weekly", "monthly", "yearly")
_BACKUPS = NestedBlock(
    Block(
        {
            "keep_all": Attribute("bool", computed=True, default=False),
            **{f"keep_{period}": Attribute("number", check=at_least(0)) for period in _KEEP},
            "max_protected_backups": Attribute("number"),
        }
    ),
    nesting="single",
)
_COMMON = {
    "content": Attribute(_STRINGS, computed=True),
    "disable": Attribute("bool", computed=True, default=False),
    "id": Attribute(required=True, force_new=True),
    "nodes": Attribute(_STRINGS, computed=True),
}
_CREATION = {
    "create_base_path": Attribute("bool", computed=True, default=True),
    "create_subdirs": Attribute("bool", computed=True, default=True),
}
_CREATION_KEYS = {"create_base_path": "create-base-path", "create_subdirs": "create-subdirs"}
_READ_ONLY = Attribute("bool", readonly=True)


def _fixed(**more: Any) -> Attribute:
    return Attribute(required=True, force_new=True, **more)


@dataclass(frozen=True)
class Kind:
    """`fixed` is sent on creation only, `sent` on changes too; both map attribute to key."""

    title: str
    type: str
    attributes: dict[str, Attribute]
    fixed: dict[str, str]
    sent: dict[str, str] = field(default_factory=dict)
    backups: bool = False


KINDS = (
    Kind(
        "directory",
        "dir",
        {
            **_CREATION,
            "path": _fixed(),
            "preallocation": Attribute(),
            "shared": Attribute("bool", computed=True, default=True),
        },
        {"path": "path"},
        {**_CREATION_KEYS, "preallocation": "preallocation", "shared": "shared"},
        backups=True,
    ),
    Kind(
        "lvm",
        "lvm",
        {
            "shared": Attribute("bool", computed=True, default=False),
            "volume_group": _fixed(),
            "wipe_removed_volumes": Attribute("bool", computed=True, default=False),
        },
        {"volume_group": "vgname"},
        {"shared": "shared", "wipe_removed_volumes": "saferemove"},
    ),
    Kind(
        "lvmthin",
        "lvmthin",
        {"shared": _READ_ONLY, "thin_pool": _fixed(), "volume_group": _fixed()},
        {"thin_pool": "thinpool", "volume_group": "vgname"},
    ),
    Kind(
        "nfs",
        "nfs",
        {
            **_CREATION,
            "export": _fixed(),
            "options": Attribute(),
            "preallocation": Attribute(force_new=True),
            "server": _fixed(),
            "shared": _READ_ONLY,
            "snapshot_as_volume_chain": Attribute("bool", force_new=True),
        },
        {
            "export": "export",
            "preallocation": "preallocation",
            "server": "server",
            "snapshot_as_volume_chain": "snapshot-as-volume-chain",
        },
        {**_CREATION_KEYS, "options": "options"},
        backups=True,
    ),
    Kind(
        "zfspool",
        "zfspool",
        {
            "blocksize": Attribute(),
            "shared": _READ_ONLY,
            "thin_provision": Attribute("bool"),
            "zfs_pool": _fixed(),
        },
        {"zfs_pool": "pool"},
        {"blocksize": "blocksize", "thin_provision": "sparse"},
    ),
)
# Said only when true: Proxmox takes their absence for a no.
_ONLY_TRUE = ("thin_provision", "snapshot_as_volume_chain")


class Storage(Resource):
    def __init__(self, kind: Kind) -> None:
        blocks = {"backups": _BACKUPS} if kind.backups else {}
        self.name = f"proxmox_storage_{kind.title}"  # type: ignore[misc]  # one class, five names
        self.block = Block({**_COMMON, **kind.attributes}, blocks)  # type: ignore[misc]  # as above
        self._kind = kind

    async def create(self, call: Call, planned: Values) -> Values:
        form = {"storage": planned["id"], "type": self._kind.type, **_common(planned)}
        form |= _plain(planned, {**self._kind.fixed, **self._kind.sent}) | _backups(planned)
        await call.api.call("POST", "/storage", form)
        return await self.found(call, planned)

    async def read(self, call: Call, state: Values) -> Values | None:
        try:
            found = await call.api.get(f"/storage/{state['id']}")
        except ApiError as error:
            if error.gone:
                return None
            raise
        return {**state, **self._told(found, state)}

    async def update(self, call: Call, _prior: Values, planned: Values) -> Values:
        form = _common(planned) | _plain(planned, self._kind.sent) | _backups(planned)
        await call.api.call("PUT", f"/storage/{planned['id']}", form)
        return await self.found(call, planned)

    async def delete(self, call: Call, prior: Values) -> None:
        await call.api.remove(f"/storage/{prior['id']}")

    def _told(self, found: Values, state: Values) -> Values:
        out: Values = {
            "content": _list(found.get("content")),
            "disable": options.truth(found.get("disable"), absent=False),
            "nodes": _list(found.get("nodes")),
            "shared": options.truth(found.get("shared"), absent=False),
        }
        for name, key in {**self._kind.fixed, **self._kind.sent}.items():
            flag = self._kind.attributes[name].type == "bool"
            if key in found:
                out[name] = options.truth(found[key], absent=False) if flag else str(found[key])
            elif name in _CREATION_KEYS:
                out[name] = True
        if state.get("backups"):
            out["backups"] = _read_backups(found, state["backups"])
        return out


def _common(planned: Values) -> dict[str, str]:
    out = {"disable": "1" if planned["disable"] else "0"}
    return out | {k: ",".join(planned[k]) for k in ("content", "nodes") if planned[k]}


def _plain(planned: Values, keys: dict[str, str]) -> dict[str, str]:
    out = {}
    for name, key in keys.items():
        value = planned[name]
        if value is None or (name in _ONLY_TRUE and not value):
            continue
        out[key] = ("1" if value else "0") if isinstance(value, bool) else str(value)
    return out


def _backups(planned: Values) -> dict[str, str]:
    block = planned.get("backups")
    if not block:
        return {}
    out = {}
    if block["max_protected_backups"] is not None:
        out["max-protected-backups"] = str(block["max_protected_backups"])
    kept = [f"keep-{p}={block[f'keep_{p}']}" for p in _KEEP if block[f"keep_{p}"] is not None]
    kept = ["keep-all=1"] if block["keep_all"] else kept
    return out | ({"prune-backups": ",".join(kept)} if kept else {})


def _read_backups(found: Values, block: Values) -> Values:
    text = str(found.get("prune-backups") or "")
    told = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    out = {f"keep_{p}": int(told[f"keep-{p}"]) for p in _KEEP if f"keep-{p}" in told}
    if "max-protected-backups" in found:
        out["max_protected_backups"] = int(found["max-protected-backups"])
    return {**block, **out, "keep_all": told.get("keep-all") == "1"}


def _list(text: Any) -> list[str]:
    return sorted(part for part in str(text or "").split(",") if part)
