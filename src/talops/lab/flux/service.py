"""The simulated controllers of every cluster in the lab; each works only where it is deployed."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import httpx

from talops.errors import TalopsError
from talops.lab.flux import workloads
from talops.lab.flux.kustomize import SimulatedKustomize
from talops.lab.flux.paths import Paths
from talops.lab.flux.source import SimulatedSource
from talops.lab.flux.status import due, report
from talops.lab.releases.manifests import flux

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from talops.lab.kubernetes.api import KubeApi

Object = dict[str, Any]

GIT = "/apis/source.toolkit.fluxcd.io/v1/gitrepositories"
SYNC = "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations"
OPERATOR = "/apis/fluxcd.controlplane.io/v1/fluxinstances"
_PAUSE = 0.3
# After this many steps without a change, the lab polls less often.
_QUIET, _LONG_PAUSE = 10, 1.0
# Without a request, a branch is polled this often, even if its interval is longer.
_LOOK = 30.0


class SimulatedFlux:
    """One cluster."""

    def __init__(
        self,
        api: KubeApi,
        folder: Path,
        tools: Callable[[str], Awaitable[Path]],
        *,
        plays: bool = True,
    ) -> None:
        self._api = api
        self._plays = plays
        self._paths = Paths(api)
        self._source = SimulatedSource(api, folder)
        self._kustomize = SimulatedKustomize(api, self._paths, tools)
        self._looked: dict[str, float] = {}
        # The result of earlier steps, and how many of them were equal.
        self._versions: list[str] = []
        self._same = 0

    @property
    def quiet(self) -> bool:
        return self._same >= _QUIET

    async def step(self) -> None:
        deployed = await workloads.play(self._api, plays=self._plays)
        seen = list(deployed)
        running = {obj["metadata"]["name"] for obj in deployed if _runs(obj)}
        if "flux-operator" in running:
            seen += await self._operate()
        followed = {"source-controller", "kustomize-controller"} & running
        repositories = await self._all(GIT) if followed else []
        if "source-controller" in running:
            fetched = [await self._look(path, obj) for path, obj in repositories]
            repositories = await self._all(GIT) if any(fetched) else repositories
        if "kustomize-controller" in running:
            seen += await self._synchronise({o["metadata"]["name"]: o for _, o in repositories})
        self._remember([*seen, *(obj for _, obj in repositories)])

    async def _synchronise(self, repositories: dict[str, Object]) -> list[Object]:
        found = await self._all(SYNC)
        for path, obj in found:
            source = repositories.get(obj["spec"]["sourceRef"]["name"])
            checkout = self._source.checkout(source) if source else None
            await self._kustomize.reconcile(path, obj, checkout)
        return [obj for _, obj in found]

    def _remember(self, seen: list[Object]) -> None:
        versions = [obj["metadata"]["resourceVersion"] for obj in seen]
        self._same = self._same + 1 if versions == self._versions else 0
        self._versions = versions

    async def _look(self, path: str, obj: Object) -> bool:
        """Whether it was fetched again."""
        now = asyncio.get_running_loop().time()
        lost = self._source.checkout(obj) is None
        ending = "deletionTimestamp" in obj["metadata"]
        if due(obj) or lost or ending or now - self._looked.get(path, 0.0) > _LOOK:
            self._looked[path] = now
            await self._source.reconcile(path, obj)
            return True
        return False

    async def _operate(self) -> list[Object]:
        found = await self._all(OPERATOR)
        for path, obj in found:
            if not due(obj):
                continue
            for part in flux():
                await self._api.apply(await self._paths.of(part), part, manager="flux-operator")
            words = f"Reconciliation finished, Flux {obj['spec']['distribution']['version']}"
            await report(self._api, path, obj, "flux-operator", "", words)
        return [obj for _, obj in found]

    async def _all(self, collection: str) -> list[tuple[str, Object]]:
        base, _, plural = collection.rpartition("/")
        listed = await self._api.get(collection) or {"items": [], "kind": "List"}
        kind, version = listed["kind"].removesuffix("List"), base.removeprefix("/apis/")
        found = []
        for item in listed["items"] or []:
            meta = item["metadata"]
            path = f"{base}/namespaces/{meta['namespace']}/{plural}/{meta['name']}"
            found.append((path, {"apiVersion": version, "kind": kind, **item}))
        return found


def _runs(obj: Object) -> bool:
    available: int = (obj.get("status") or {}).get("availableReplicas", 0)
    return obj["metadata"]["namespace"] == "flux-system" and available > 0


class FluxService:
    """`clusters` gives the API of every cluster that has one right now, by its id; `plays` is
    whether it also simulates the status of workloads.
    """

    name = "flux"

    def __init__(
        self,
        folder: Callable[[], Path],
        clusters: Callable[[], dict[str, KubeApi]],
        tools: Callable[[str], Awaitable[Path]],
        *,
        plays: bool = True,
    ) -> None:
        self._folder = folder
        self._plays = plays
        self._clusters = clusters
        self._tools = tools
        self._task: asyncio.Task[None] | None = None
        self._played: dict[KubeApi, SimulatedFlux] = {}
        self.last_problem = ""

    async def start(self) -> None:
        self._task = asyncio.create_task(self._forever())

    async def stop(self) -> None:
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        self._played.clear()

    def endpoints(self) -> dict[str, Any]:
        return {"played": True, "last_problem": self.last_problem}

    async def _forever(self) -> None:
        while True:
            clusters = self._clusters()
            for api in clusters.values():
                if api not in self._played:
                    self._played[api] = SimulatedFlux(
                        api, self._folder(), self._tools, plays=self._plays
                    )
                try:
                    await self._played[api].step()
                except (TalopsError, httpx.HTTPError, OSError, KeyError) as error:
                    self.last_problem = str(error)
            quiet = clusters and all(self._played[api].quiet for api in clusters.values())
            await asyncio.sleep(_LONG_PAUSE if quiet else _PAUSE)
