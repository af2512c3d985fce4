"""What kubernetes-csi/external-provisioner does: a volume for each claim, and its deletion."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.lab.kubernetes.watch import Collection

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from talops.lab.kubernetes.api import KubeApi

Object = dict[str, Any]
CLAIMS, VOLUMES = "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes"
_ASKED = "volume.kubernetes.io/storage-provisioner"  # the controller manager asks with it
_PROVISIONED = "pv.kubernetes.io/provisioned-by"
_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
_PAUSE = 0.5


class Provisioner:
    """For every driver that a storage class names."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api
        self._claims = Collection(api, CLAIMS, self._claim)
        self._volumes = Collection(api, VOLUMES, self._volume)
        self._at_work: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        try:
            await asyncio.gather(self._claims.follow(), self._volumes.follow())
        finally:
            for task in self._at_work.values():
                task.cancel()

    def _claim(self, found: Object, gone: bool) -> None:
        asked = (found["metadata"].get("annotations") or {}).get(_ASKED)
        if asked and not gone and not found["spec"].get("volumeName"):
            self._do(found["metadata"]["uid"], self._create(found, asked))

    def _volume(self, found: Object, gone: bool) -> None:
        own = _PROVISIONED in (found["metadata"].get("annotations") or {})
        released = found.get("status", {}).get("phase") == "Released"
        deletes = found["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        if own and released and deletes and not gone:
            path = f"{VOLUMES}/{found['metadata']['name']}"
            self._do(found["metadata"]["uid"], self._api.delete(path))

    def _do(self, uid: str, work: Coroutine[Any, Any, None]) -> None:
        if uid in self._at_work:
            work.close()
            return
        self._at_work[uid] = asyncio.create_task(self._tried(uid, work))

    async def _tried(self, uid: str, work: Coroutine[Any, Any, None]) -> None:
        """The next change of the object tries again what failed."""
        try:
            await work
        except TalopsError:
            await asyncio.sleep(_PAUSE)
        finally:
            del self._at_work[uid]

    async def _create(self, claim: Object, driver: str) -> None:
        kind = await self._api.get(f"{_CLASSES}/{claim['spec']['storageClassName']}") or {}
        volume = _volume(claim, driver, str(kind.get("reclaimPolicy", "Delete")))
        await self._api.apply(f"{VOLUMES}/{volume['metadata']['name']}", volume, manager="csi")


def _volume(claim: Object, driver: str, policy: str) -> Object:
    meta, spec = claim["metadata"], claim["spec"]
    name = f"pvc-{meta['uid']}"
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        **{key: meta[key] for key in ("namespace", "name", "uid")},
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {_PROVISIONED: driver}},
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "claimRef": reference,
            "storageClassName": spec["storageClassName"],
            "persistentVolumeReclaimPolicy": policy,
            "csi": {"driver": driver, "volumeHandle": f"lab/{name}"},
        },
    }
