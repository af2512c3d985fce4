"""Kind → path, from the discovery API of the server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import NotReadyError, TalopsError
from talops.kube.answers import NotFoundError
from talops.kube.shapes import DISCOVERY

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from talops.kube.objects import Object, Ref
    from talops.shapes import Shape


@dataclass(frozen=True)
class Resource:
    plural: str
    namespaced: bool


class Discovery:
    """Request the kinds of a group once; request them again for an unknown kind."""

    def __init__(self, get_json: Callable[[str, Shape], Awaitable[Object]]) -> None:
        self._get_json = get_json
        self._known: dict[tuple[str, str], Resource] = {}
        self._asking = asyncio.Lock()

    async def path(self, ref: Ref, subresource: str = "") -> str:
        resource = await self._resource(ref.api_version, ref.kind)
        if resource.namespaced and not ref.namespace:
            raise TalopsError("this object requires a namespace", where=str(ref))
        namespace = ref.namespace if resource.namespaced else None
        tail = f"/{subresource}" if subresource else ""
        return f"{_base(ref.api_version, namespace)}/{resource.plural}/{ref.name}{tail}"

    async def path_or_none(self, ref: Ref) -> str | None:
        """None if the server does not know the kind; then no object of it exists."""
        try:
            return await self.path(ref)
        except UnknownKindError:
            return None

    async def collection(self, api_version: str, kind: str, namespace: str | None) -> str:
        resource = await self._resource(api_version, kind)
        place = namespace if resource.namespaced else None
        return f"{_base(api_version, place)}/{resource.plural}"

    async def is_namespaced(self, api_version: str, kind: str) -> bool:
        return (await self._resource(api_version, kind)).namespaced

    async def _resource(self, api_version: str, kind: str) -> Resource:
        if (api_version, kind) not in self._known:
            async with self._asking:  # another task may have fetched it meanwhile
                if (api_version, kind) not in self._known:
                    await self._learn(api_version)
        try:
            return self._known[api_version, kind]
        except KeyError:
            raise UnknownKindError(
                f"the cluster does not know {kind} of {api_version}",
                hint="its CustomResourceDefinition does not exist yet",
            ) from None

    async def _learn(self, api_version: str) -> None:
        try:
            answer = await self._get_json(_base(api_version, None), DISCOVERY)
        except NotFoundError:  # a group without kinds
            return
        for entry in answer["resources"]:
            if "/" not in entry["name"]:
                found = Resource(entry["name"], entry["namespaced"])
                self._known[api_version, entry["kind"]] = found


class UnknownKindError(NotReadyError):
    """The cluster does not know this kind at the moment."""


def _base(api_version: str, namespace: str | None) -> str:
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    return f"{root}/namespaces/{namespace}" if namespace else root
