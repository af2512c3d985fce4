"""Clusters of the lab whose Kubernetes is upgraded: real etcd and API servers, no hypervisor."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.talos.site import QUICK, NodeSite
from tests.rolls.conftest import Rolling

from talops.lab.talos.config.document import image_tag
from talops.rolls.rolling import Rolling as Shared
from talops.upgrades.kubernetes.hop import Kubernetes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle
    from talops.site.site import Limits, Site

APISERVER = "kube-apiserver"


class Upgrading(Rolling):
    """A running cluster, its inventory, and what runs at every moment of an upgrade."""

    limits: Limits = QUICK

    def __init__(self, lab: NodeSite) -> None:
        super().__init__(lab)
        self.notes: list[str] = []
        # (oldest API server, newest kubelet), sampled while something is upgraded.
        self.samples: set[tuple[str, str]] = set()

    @property
    def site(self) -> Site:
        return replace(super().site, limits=self.limits)

    def hop(self) -> Kubernetes:
        site = self.site
        return Kubernetes(site, Shared(site), self.report)

    def extend(self, lines: str) -> None:
        """Other values for keys of the inventory."""
        cluster = self.lab.root / "cluster.yaml"
        keys = tuple(line.partition(":")[0] + ":" for line in lines.splitlines())
        kept = [x for x in cluster.read_text().splitlines() if not keys or not x.startswith(keys)]
        cluster.write_text("\n".join([*kept, *lines.splitlines()]) + "\n")

    def inventory(self, *, kubernetes: str, patch: str = "") -> None:
        cluster = self.lab.root / "cluster.yaml"
        kept = cluster.read_text().partition("controller_patches:")[0]
        lines = [line for line in kept.splitlines() if "kubernetes_version" not in line]
        lines += [f"kubernetes_version: {kubernetes}"]
        lines += [f"controller_patches: [{patch}]"] if patch else []
        cluster.write_text("\n".join(lines) + "\n")

    def kubelets(self) -> dict[str, str]:
        """Those that the nodes are configured to run: the earliest moment of a new one."""
        found = {name: self.lab.lab.node(name).config for name in self.lab.lab.machines}
        return {name: config.kubelet_version for name, config in found.items() if config}

    def pods(self, component: str = APISERVER) -> dict[str, str]:
        """The versions of static pods that run or restart."""
        planes = [name for name in self.lab.lab.machines if name.startswith("cp")]
        found = {n: self.lab.lab.node(n).control_plane.serving.pods() for n in planes}
        return {n: image_tag(pods[component].image) for n, pods in found.items() if pods}

    def applied(self) -> int:
        """How many configs the nodes have accepted since they were started."""
        kernels = [self.lab.lab.node(name).journal.kernel for name in self.lab.lab.machines]
        return sum("apply config request" in line for k in kernels for line in k.items())

    @contextlib.asynccontextmanager
    async def sampled(self) -> AsyncIterator[None]:
        async def sample() -> None:
            while True:
                if servers := self.pods():
                    self.samples.add((min(servers.values()), max(self.kubelets().values())))
                await asyncio.sleep(0.01)

        task = asyncio.create_task(sample())
        try:
            yield
        finally:
            task.cancel()


@pytest.fixture
def upgrading(
    tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> Callable[..., contextlib.AbstractAsyncContextManager[Upgrading]]:
    """Start a cluster of these nodes with an older Kubernetes."""

    @contextlib.asynccontextmanager
    async def make(*names: str, inventory: str = "", **settings: Any) -> AsyncIterator[Upgrading]:
        async def find(name: str) -> Path:
            return tool(name)

        lab = NodeSite(tmp_path, find, bundle)
        cluster = Upgrading(lab)
        try:
            await lab.start(*names, **settings)
            cluster.extend(inventory)
            cluster.inventory(kubernetes="v1.35.4")
            for name in names:
                await lab.lab.listening(name)
            up = await lab.run("kubeconfig")
            assert up.error is None, up.error
            await lab.lab.ready(*names)
            yield cluster
        finally:
            await lab.lab.close()

    return make
