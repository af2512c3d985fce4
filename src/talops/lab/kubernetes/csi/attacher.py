"""What kubernetes-csi/external-attacher does with VolumeAttachments, for every driver."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.lab.kubernetes.watch import Collection

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.lab.kubernetes.api import KubeApi

Object = dict[str, Any]
PATH = "/apis/storage.k8s.io/v1/volumeattachments"
_PAUSE = 0.5


class Attacher:
    """`seconds` is how long each way takes; `stuck` says of a node that nothing can be detached
    from it.
    """

    def __init__(self, api: KubeApi, seconds: float, stuck: Callable[[str], bool]) -> None:
        self._api = api
        self._seconds = seconds
        self._stuck = stuck
        self._known = Collection(api, PATH, self._seen)
        self._at_work: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        try:
            await self._known.follow()
        finally:
            for task in self._at_work.values():
                task.cancel()

    def _seen(self, found: Object, gone: bool) -> None:
        uid = found["metadata"]["uid"]
        if uid not in self._at_work and not gone and _due(found):
            task = asyncio.create_task(self._work(uid))
            self._at_work[uid] = task

    async def _work(self, uid: str) -> None:
        """Until this attachment is as it should be; one at a time."""
        try:
            while (found := self._known.objects.get(uid)) and _due(found):
                try:
                    await self._step(found)
                except TalopsError:
                    await asyncio.sleep(_PAUSE)
                else:
                    await asyncio.sleep(0)
        finally:
            del self._at_work[uid]

    async def _step(self, found: Object) -> None:
        path, finalizer = f"{PATH}/{found['metadata']['name']}", finalizer_of(found)
        held: list[str] = found["metadata"].get("finalizers") or []
        if "deletionTimestamp" not in found["metadata"]:
            if finalizer not in held:
                held = [*held, finalizer]
                self._note(await self._api.merge(path, {"metadata": {"finalizers": held}}))
            await asyncio.sleep(self._seconds)
            self._note(await self._api.merge(f"{path}/status", {"status": {"attached": True}}))
            return
        while self._stuck(found["spec"]["nodeName"]):  # noqa: ASYNC110  (a fault, not an event)
            await asyncio.sleep(_PAUSE)
        await asyncio.sleep(self._seconds)
        left = [name for name in held if name != finalizer]
        self._note(await self._api.merge(path, {"metadata": {"finalizers": left or None}}))

    def _note(self, answer: Object | None) -> None:
        """The watch brings it, too, but later."""
        if answer is not None and answer["metadata"]["uid"] in self._known.objects:
            self._known.objects[answer["metadata"]["uid"]] = answer


def finalizer_of(attachment: Object) -> str:
    """Named after the driver, without what is not allowed in names."""
    name = re.sub("[^a-zA-Z0-9-]", "-", attachment["spec"]["attacher"])
    return f"external-attacher/{name}{'X' if name.endswith('-') else ''}"


def _due(found: Object) -> bool:
    if "deletionTimestamp" in found["metadata"]:
        return finalizer_of(found) in (found["metadata"].get("finalizers") or ())
    return not (found.get("status") or {}).get("attached")
