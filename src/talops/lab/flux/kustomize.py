"""Simulated kustomize-controller: builds, decrypts, applies, records, prunes."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.lab.flux.build import build
from talops.lab.flux.decrypt import Decryptor
from talops.lab.flux.status import due, hold, let_go, report

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from talops.lab.flux.paths import Paths
    from talops.lab.kubernetes.api import KubeApi

Object = dict[str, Any]
MANAGER = "kustomize-controller"
LABEL = "kustomize.toolkit.fluxcd.io"
_FIRST = ("Namespace", "CustomResourceDefinition")


class SimulatedKustomize:
    def __init__(self, api: KubeApi, paths: Paths, tools: Callable[[str], Awaitable[Path]]) -> None:
        self._api = api
        self._paths = paths
        self._tools = tools

    async def reconcile(self, path: str, ks: Object, source: tuple[str, Path] | None) -> None:
        if ks["metadata"].get("deletionTimestamp"):
            await self._prune(ks, {})
            await let_go(self._api, path, ks, MANAGER)
            return
        await hold(self._api, path, ks, MANAGER)
        if source is None:
            name = ks["spec"]["sourceRef"]["name"]
            words = f"Source artifact not found, retrying in 30s: {name}"
            await report(self._api, path, ks, MANAGER, "ArtifactFailed", words)
            return
        revision, folder = source
        if not due(ks) and (ks.get("status") or {}).get("lastAppliedRevision") == revision:
            return
        failure = "BuildFailed"
        try:
            root = folder.resolve()
            objects = build((root / ks["spec"].get("path", "./")).resolve(), root)
            decryptor = Decryptor(self._tools, await self._keys(ks))
            objects = [await decryptor.plain(obj) for obj in objects]
            failure = "ReconciliationFailed"
            applied = await self._apply(ks, objects)
            await self._prune(ks, applied)
        except TalopsError as error:
            more = {"lastAttemptedRevision": revision}
            await report(self._api, path, ks, MANAGER, failure, error.what, **more)
            return
        more_ok: Object = {
            "lastAppliedRevision": revision,
            "lastAttemptedRevision": revision,
            "inventory": {"entries": [{"id": name, "v": v} for name, v in sorted(applied.items())]},
        }
        await report(self._api, path, ks, MANAGER, "", f"Applied revision: {revision}", **more_ok)

    async def _keys(self, ks: Object) -> list[str]:
        name = ((ks["spec"].get("decryption") or {}).get("secretRef") or {}).get("name")
        if not name:
            return []
        place = ks["metadata"]["namespace"]
        found = await self._api.get(f"/api/v1/namespaces/{place}/secrets/{name}")
        if found is None:
            raise TalopsError(f"cannot get decryption secret '{place}/{name}': not found")
        values = (found.get("data") or {}).items()
        return [base64.b64decode(v).decode() for k, v in values if k.endswith(".agekey")]

    async def _apply(self, ks: Object, objects: list[Object]) -> dict[str, str]:
        applied: dict[str, str] = {}
        meta = ks["metadata"]
        labels = {f"{LABEL}/name": meta["name"], f"{LABEL}/namespace": meta["namespace"]}
        for obj in sorted(objects, key=lambda o: o["kind"] not in _FIRST):
            own = {**obj["metadata"], "labels": {**obj["metadata"].get("labels", {}), **labels}}
            if await self._paths.namespaced(obj):
                own.setdefault("namespace", ks["spec"].get("targetNamespace", "default"))
            else:
                own.pop("namespace", None)
            made = {**obj, "metadata": own}
            await self._api.apply(await self._paths.of(made), made, manager=MANAGER)
            group, _, version = obj["apiVersion"].rpartition("/")
            key = f"{own.get('namespace', '')}_{own['name']}_{group}_{obj['kind']}"
            applied[key] = version
        return applied

    async def _prune(self, ks: Object, applied: dict[str, str]) -> None:
        if not ks["spec"].get("prune"):
            return
        old = ((ks.get("status") or {}).get("inventory") or {}).get("entries") or []
        for entry in old:
            if entry["id"] in applied:
                continue
            place, name, group, kind = entry["id"].split("_")
            version = f"{group}/{entry['v']}" if group else entry["v"]
            meta = {"name": name, **({"namespace": place} if place else {})}
            gone = {"apiVersion": version, "kind": kind, "metadata": meta}
            await self._api.delete(await self._paths.of(gone))
