"""Bootstrap manifests (CoreDNS, kube-proxy, flannel, those of patches) follow an upgrade.

Talos only creates them; an upgrade applies the new ones, as `talosctl upgrade-k8s` does: by
server-side apply as field manager `talos`, and by deleting objects that it no longer renders.
Before Talos 1.13 there is no inventory, and nothing is deleted.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talops.kube.answers import NotFoundError
from talops.kube.discovery import UnknownKindError
from talops.kube.objects import Ref
from talops.kube.waits import wait_ready
from talops.machineconfig import yamltext
from talops.upgrades.kubernetes.inventory_map import (
    INVENTORY,
    MANAGER,
    Entry,
    in_order,
    owned,
    require_ours,
)
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from talops.kube.client import KubeClient
    from talops.kube.objects import Object
    from talops.pipeline.stage import Reporter
    from talops.site.site import Limits

_DEFINITIONS = ("Namespace", "CustomResourceDefinition")
_WORKLOADS = ("DaemonSet", "Deployment", "StatefulSet")
_SERVER_SIDE = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")


@dataclass(frozen=True)
class ManifestChange:
    """`action`: create, change, adopt (into the inventory) or delete; no `diff` of Secrets."""

    action: str
    ref: Ref
    diff: str
    obj: Object = field(default_factory=dict, repr=False)


class Manifests:
    """`inventory`: all nodes run a Talos that keeps one."""

    def __init__(
        self, kube: KubeClient, objects: Iterable[Object], *, inventory: bool = True
    ) -> None:
        self._kube = kube
        self._objects = list(objects)
        self._inventory = inventory

    async def changes(self) -> list[ManifestChange]:
        """By dry runs of the API server; nothing is changed."""
        wanted = await self._wanted()
        found = [await self._change(obj) for obj in wanted]
        return [change for change in (*found, *await self._outdated(wanted)) if change]

    async def sync(self, limits: Limits, report: Reporter) -> None:
        """Show every difference, apply it, and wait until changed workloads have rolled out."""
        changes = await self.changes()
        _show(changes, report)
        for change in changes:
            if change.action != "delete":
                await self._apply(change, limits, report)
        if self._inventory:
            await self._keep(await self._wanted(), changes)
        for change in changes:
            if change.action != "delete" and change.ref.kind in _WORKLOADS:
                await wait_ready(
                    self._kube,
                    change.ref,
                    timeout=limits.kubernetes,
                    interval=limits.interval,
                    report=report.waiting,
                )

    async def _apply(self, change: ManifestChange, limits: Limits, report: Reporter) -> None:
        async def probe() -> Ready[None] | NotYet:
            await self._kube.apply(change.obj, manager=MANAGER)
            return Ready(None)

        # A new definition may be established before the server offers its kind.
        await wait_for(
            f"{change.ref} to be accepted",
            probe,
            timeout=limits.kubernetes,
            interval=limits.interval,
            report=report.waiting,
        )
        if change.ref.kind in _DEFINITIONS:
            await wait_ready(self._kube, change.ref, timeout=limits.kubernetes)

    async def _wanted(self) -> list[Object]:
        """In the order to apply, each with the namespace that its kind requires, or without."""
        placed = [await self._placed(obj) for obj in self._objects]
        return in_order(owned(obj) if self._inventory else obj for obj in placed)

    async def _placed(self, obj: Object) -> Object:
        meta = dict(obj["metadata"])
        try:
            if await self._kube.is_namespaced(obj["apiVersion"], obj["kind"]):
                meta["namespace"] = meta.get("namespace") or "default"
            else:
                meta.pop("namespace", None)
        except UnknownKindError:  # another manifest defines it
            pass
        return obj | {"metadata": meta}

    async def _change(self, obj: Object) -> ManifestChange | None:
        ref = Ref.of(obj)
        live = await self._kube.get(ref)
        if live is None:
            return ManifestChange("create", ref, _diff({}, obj), obj)
        after = await self._kube.apply(obj, manager=MANAGER, dry_run=True)
        if _shown(after) == _shown(live):
            return None
        if self._inventory:
            require_ours(live)
        if _shown(after) == owned(_shown(live)):
            return ManifestChange("adopt", ref, "", obj)
        return ManifestChange("change", ref, _diff(live, after), obj)

    async def _outdated(self, wanted: Sequence[Object]) -> list[ManifestChange]:
        """What the inventory lists, and the manifests of now do not contain."""
        if not self._inventory:
            return []
        kept = {str(Entry.of(obj)) for obj in wanted}
        found = []
        for text in await self._listed():
            live = None if text in kept else await self._find(Entry.parse(text))
            if live is not None:
                require_ours(live)
                found.append(ManifestChange("delete", Ref.of(live), _diff(live, {}), live))
        return found

    async def _keep(self, wanted: Sequence[Object], changes: Sequence[ManifestChange]) -> None:
        """First what was applied, then what is deleted: a run between the two deletes again."""
        now = {str(Entry.of(obj)): "" for obj in wanted}
        before = await self._listed()
        if not before:
            await self._kube.apply(_config_map(now), manager=MANAGER)
        elif set(now) - set(before):
            await self._kube.merge(INVENTORY, {"data": now})
        for change in changes:
            if change.action == "delete":
                await self._kube.delete(change.ref)
        if gone := {text: None for text in before if text not in now}:
            await self._kube.merge(INVENTORY, {"data": gone})

    async def _listed(self) -> list[str]:
        found = await self._kube.get(INVENTORY)
        return list((found or {}).get("data") or {})

    async def _find(self, entry: Entry) -> Object | None:
        version = "v1"
        if entry.group:
            try:
                group = await self._kube.get_json(f"/apis/{entry.group}")
            except NotFoundError:  # without definitions, no object of it exists
                return None
            version = str(group["preferredVersion"]["groupVersion"])
        return await self._kube.get(Ref(version, entry.kind, entry.name, entry.namespace or None))


def _show(changes: Sequence[ManifestChange], report: Reporter) -> None:
    """Differences in the output; whole objects only in the log of the run."""
    for change in changes:
        text = f"{change.action} {change.ref}"
        if change.action == "change":
            report.note(f"bootstrap manifest: {text}\n{change.diff}".rstrip())
        elif change.action != "adopt":
            report.note(f"bootstrap manifest: {text}")
        report.log(f"{text}\n{change.diff}".rstrip())


def _config_map(data: dict[str, str]) -> Object:
    place = {"name": INVENTORY.name, "namespace": INVENTORY.namespace}
    return {"apiVersion": "v1", "kind": INVENTORY.kind, "metadata": place, "data": data}


def _shown(obj: Object) -> dict[str, Any]:
    """Without what the server adds."""
    if not obj:
        return {}
    meta = {k: v for k, v in obj["metadata"].items() if k not in _SERVER_SIDE}
    return {k: v for k, v in obj.items() if k != "status"} | {"metadata": meta}


def _diff(before: Object, after: Object) -> str:
    if "Secret" in (before.get("kind"), after.get("kind")):
        return ""
    was, will = (yamltext.dump(_shown(obj)) if obj else "" for obj in (before, after))
    lines = difflib.unified_diff(was.splitlines(), will.splitlines(), lineterm="", n=2)
    return "\n".join(list(lines)[2:])  # without the names of files
