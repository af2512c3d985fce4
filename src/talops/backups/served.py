"""Whether the API of a restored cluster returns the objects that its etcd has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from talops.backups.contents import kind_of
from talops.errors import WaitTimeoutError
from talops.waiting import NotYet, Ready, wait_for

Get = Callable[..., Awaitable[dict[str, Any]]]

# Names in etcd that are not those of the API, as the API server's storage has them.
_RENAMED = {
    "minions": "nodes",
    "controllers": "replicationcontrollers",
    "services/specs": "services",
    "services/endpoints": "endpoints",
    "ingress": "ingresses",
}
# What API servers keep in etcd for themselves.
_INTERNAL = {"other", "ranges", "masterleases", "peerserverleases"}
# Custom resources are served some seconds after an API server is ready.
_PATIENCE = 30.0
_SHOWN = 3
_PAGE = "500"


class Names:
    """The names of the objects in etcd, by kind."""

    def __init__(self) -> None:
        self.kinds: dict[str, set[str]] = defaultdict(set)

    def add(self, key: bytes) -> None:
        kind = kind_of(key)
        if kind not in _INTERNAL:
            parts = key.decode(errors="replace").split("/")
            self.kinds[kind].add("/".join(parts[4 if "." in parts[2] or "/" in kind else 3 :]))


@dataclass(frozen=True)
class Served:
    """How many objects the API returned, what it did not, and kinds that it does not know."""

    objects: int
    missing: tuple[str, ...]
    unserved: tuple[str, ...]


async def read_served(get: Get, names: Names) -> Served:
    paths = await _paths(get, set(names.kinds))
    count, missing = 0, []
    for kind, path in sorted(paths.items()):
        wanted = names.kinds[kind]
        lost = sorted(wanted - await _listed(get, path))
        count += len(wanted) - len(lost)
        if lost:
            more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
            missing.append(f"{kind}: not served: {', '.join(lost[:_SHOWN])}{more}")
    return Served(count, tuple(missing), tuple(sorted(set(names.kinds) - set(paths))))


async def _paths(get: Get, kinds: set[str]) -> dict[str, str]:
    """API path by kind in etcd, once all custom resources among them are served."""
    found: dict[str, str] = {}

    async def look() -> Ready[dict[str, str]] | NotYet:
        found.update(_matched(await _resources(get), kinds))
        waiting = sorted(kind for kind in kinds - set(found) if "." in kind)
        return NotYet(f"{', '.join(waiting)} not served") if waiting else Ready(found)

    try:
        return await wait_for("custom resources to be served", look, timeout=_PATIENCE)
    except WaitTimeoutError:
        return found


def _matched(resources: dict[tuple[str, str], str], kinds: set[str]) -> dict[str, str]:
    """`resources`: path by plural name and group; built-in kinds have no group in etcd."""
    found = {}
    for kind in kinds:
        name, _, group = kind.partition(".")
        name = _RENAMED.get(name, name)
        if group:
            path = resources.get((name, group))
        else:
            groups = sorted(g for n, g in resources if n == name and _is_builtin(g))
            path = resources[name, groups[0]] if groups else None
        if path:
            found[kind] = path
    return found


def _is_builtin(group: str) -> bool:
    return "." not in group or group.endswith(".k8s.io")


async def _resources(get: Get) -> dict[tuple[str, str], str]:
    groups = (await get("/apis")).get("groups", [])
    places = [("", "/api/v1")]
    places += [(g["name"], f"/apis/{g['preferredVersion']['groupVersion']}") for g in groups]
    found = {}
    for group, path in places:
        for each in (await get(path)).get("resources", []):
            if "list" in each.get("verbs", ()) and "/" not in each["name"]:
                found[each["name"], group] = f"{path}/{each['name']}"
    return found


async def _listed(get: Get, path: str) -> set[str]:
    names: set[str] = set()
    token = ""
    while True:
        page = await get(path, limit=_PAGE, **({"continue": token} if token else {}))
        for item in page.get("items", []):
            metadata = item["metadata"]
            names.add("/".join(filter(None, (metadata.get("namespace"), metadata["name"]))))
        token = (page.get("metadata") or {}).get("continue") or ""
        if not token:
            return names
