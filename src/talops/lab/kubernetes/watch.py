"""A collection of Kubernetes objects that follows every change: one list, then a watch."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from talops.errors import ConflictError, NotReadyError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.lab.kubernetes.api import KubeApi

Object = dict[str, Any]
_PAUSE = 0.2


class Collection:
    """One watch serves all nodes of a cluster: nothing is polled. `seen` gets each object as it is
    now, or as it was when it went.
    """

    def __init__(self, api: KubeApi, path: str, seen: Callable[[Object, bool], None]) -> None:
        self._api = api
        self._path = path
        self._seen = seen
        self.objects: dict[str, Object] = {}  # by uid
        self.listed = False  # whether it has been complete once

    async def follow(self) -> None:
        """Until it is cancelled; a lost connection means that everything is listed again."""
        while True:
            with contextlib.suppress(UnreachableError, NotReadyError, ConflictError):
                version = await self._list()
                async for event in self._api.watch(self._path, version):
                    if event["type"] == "ERROR":  # the version is too old
                        break
                    self._note(event["object"], gone=event["type"] == "DELETED")
            await asyncio.sleep(_PAUSE)

    async def _list(self) -> str:
        listed = await self._api.get(self._path) or {"items": [], "metadata": {}}
        items = {item["metadata"]["uid"]: item for item in listed["items"] or ()}
        before, self.objects = self.objects, items
        self.listed = True
        # Callbacks see the new list as a whole: what replaced an object is in it.
        for uid, known in before.items():
            if uid not in items:
                self._seen(known, True)
        for uid, item in items.items():
            if uid not in before or _version(before[uid]) != _version(item):
                self._seen(item, False)
        return str(listed["metadata"].get("resourceVersion", ""))

    def _note(self, found: Object, *, gone: bool) -> None:
        meta = found["metadata"]
        known = self.objects.get(meta["uid"])
        if gone:
            self.objects.pop(meta["uid"], None)
        elif known and _version(known) == _version(found):
            return
        else:
            self.objects[meta["uid"]] = found
        self._seen(found, gone)


def _version(found: Object) -> str:
    return str(found["metadata"]["resourceVersion"])
