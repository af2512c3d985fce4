"""Clusters of the lab whose configs change: real etcd and API servers, no hypervisor."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.talos.site import QUICK, NodeSite

from talops.events import PartProgress, PlannedChange, WaitProgress
from talops.inventory.load import load
from talops.kube.client import KubeClient
from talops.kube.kubeconfig import load as load_kubeconfig
from talops.site.fleet import Fleet
from talops.talos.errors import OutcomeUnknownError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from talops.errors import TalopsError
    from talops.kube.objects import Object
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.site.site import Limits

# A trial that fails takes all of its time; one that succeeds ends with its proof.
FAILING = replace(QUICK, trial=6.0, settle=0.5)
PROVEN = replace(QUICK, trial=90.0, settle=0.5)


class Changing:
    """A running cluster, its inventory, and what its nodes were told."""

    def __init__(self, lab: NodeSite) -> None:
        self.lab = lab

    @property
    def names(self) -> list[str]:
        return list(self.lab.lab.machines)

    def patch(self, *patches: str, workers: str = "") -> None:
        """Every node gets these patches from now on, and no others."""
        file = self.lab.root / "cluster.yaml"
        kept = file.read_text().partition("patches:")[0]
        rows = "".join(f"  - {patch}\n" for patch in patches)
        only = f"worker_patches:\n  - {workers}\n" if workers else ""
        file.write_text(f"{kept}patches:\n{rows}{only}" if rows else f"{kept}{only}")

    async def apply(self, limits: Limits = PROVEN) -> TalopsError | None:
        self.lab.events.clear()
        return (await self.lab.run("apply-config", limits)).error

    async def reboot(self, name: str) -> None:
        node = next(n for n in load(self.lab.root).require().nodes if n.name == name)
        async with Fleet(self.lab.bundle).talos(node) as talos:
            with contextlib.suppress(OutcomeUnknownError):
                await talos.machine.reboot()

    def planned(self) -> list[str]:
        seen = [event for event in self.lab.events if isinstance(event, PlannedChange)]
        return [f"{event.action} {event.target} ({event.detail})" for event in seen]

    def waits(self) -> set[str]:
        """The names of all waits of the last run."""
        return {e.name for e in self.lab.events if isinstance(e, WaitProgress)}

    def boots(self) -> dict[str, str]:
        return {name: self.lab.lab.node(name).boot_id for name in self.names}

    def stored(self) -> dict[str, bytes | None]:
        return {name: self.lab.lab.node(name).store.config() for name in self.names}

    def told(self) -> list[tuple[str, str]]:
        """(node, mode) of every config that was applied in this boot; dry runs are left out."""
        found = []
        for name in self.names:
            for line in self.lab.lab.node(name).journal.kernel.items():
                if "apply config request: mode " in line:
                    stamp = line.partition("[")[2].partition("]")[0]
                    found.append((stamp, name, line.split()[-1]))
        return [(name, mode) for _, name, mode in sorted(found)]

    def steps(self) -> list[tuple[str, str]]:
        """(step, node) of everything that the last run has done in a roll, in order."""
        return [
            (event.doing, event.part)
            for event in self.lab.events
            if isinstance(event, PartProgress) and event.phase == "done"
        ]

    def drained(self) -> list[str]:
        return [node for step, node in self.steps() if step == "draining"]

    async def kube_nodes(self) -> dict[str, Object]:
        config = load_kubeconfig(self.lab.root / "kubeconfig", "lab")
        assert config
        async with KubeClient(config) as client:
            return {n["metadata"]["name"]: n for n in await client.list_all("v1", "Node")}


@pytest.fixture
def changing(
    tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> Callable[..., contextlib.AbstractAsyncContextManager[Changing]]:
    """Start a cluster of these nodes, with a kubeconfig."""

    @contextlib.asynccontextmanager
    async def make(*names: str, **settings: Any) -> AsyncIterator[Changing]:
        async def find(name: str) -> Path:
            return tool(name)

        lab = NodeSite(tmp_path, find, bundle)
        try:
            await lab.start(*names, **settings)
            for name in names:
                await lab.lab.listening(name)
            up = await lab.run("kubeconfig")
            assert up.error is None, up.error
            await lab.lab.ready(*names)
            yield Changing(lab)
        finally:
            await lab.lab.close()

    return make
