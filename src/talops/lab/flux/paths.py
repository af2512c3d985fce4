"""Object → path at the API server, by asking the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.errors import NotReadyError

if TYPE_CHECKING:
    from talops.lab.kubernetes.api import KubeApi

Object = dict[str, Any]


class Paths:
    def __init__(self, api: KubeApi) -> None:
        self._api = api
        self._known: dict[tuple[str, str], tuple[str, bool]] = {}

    async def of(self, obj: Object) -> str:
        plural, namespaced = await self._resource(obj["apiVersion"], obj["kind"])
        base, meta = _base(obj["apiVersion"]), obj["metadata"]
        place = f"/namespaces/{meta.get('namespace', 'default')}" if namespaced else ""
        return f"{base}{place}/{plural}/{meta['name']}"

    async def namespaced(self, obj: Object) -> bool:
        return (await self._resource(obj["apiVersion"], obj["kind"]))[1]

    async def _resource(self, version: str, kind: str) -> tuple[str, bool]:
        if (version, kind) not in self._known:
            answer = await self._api.get(_base(version)) or {"resources": []}
            for entry in answer["resources"]:
                if "/" not in entry["name"]:
                    self._known[version, entry["kind"]] = (entry["name"], entry["namespaced"])
        if (version, kind) not in self._known:
            raise NotReadyError(f"no matches for kind {kind!r} in version {version!r}")
        return self._known[version, kind]


def _base(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"
