"""What was wrong before the first change of nodes that keep serving: it stops no change."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError, WaitTimeoutError
from talops.kube.conditions import condition
from talops.rolls.gates import Absence
from talops.site.etcd_guard import look_at_etcd
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.kube.objects import Object
    from talops.rolls.gates import Gates
    from talops.rolls.kube_access import KubeAccess
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site

# How long a gate may be closed before the first change until the run goes on without it.
PATIENCE = 30.0


@dataclass(frozen=True)
class Before:
    """Nodes that were not healthy, and names of gates that were closed or could not be asked."""

    sick: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()

    def absence(self, away: Iterable[str]) -> Absence:
        return Absence(frozenset(away), self.sick)


class FirstLook:
    """Taken once per run; a gate that is closed for a moment only is not ignored."""

    def __init__(self, site: Site, secrets: SecretsFile, kube: KubeAccess) -> None:
        self._site = site
        self._secrets = secrets
        self._kube = kube
        self._looking = asyncio.Lock()
        self._found: Before | None = None

    async def look(self, gates: Gates) -> Before:
        seen = Before()

        async def probe() -> Ready[None] | NotYet:
            nonlocal seen
            sick = await self._sick()
            seen = Before(sick, await gates.closed(Absence(sick=sick)))
            if seen.closed:
                return NotYet(f"closed: {', '.join(sorted(seen.closed))}")
            return Ready(None)

        async with self._looking:
            if self._found is None:
                with contextlib.suppress(WaitTimeoutError):
                    await wait_for(
                        "the gates to open",
                        probe,
                        timeout=min(PATIENCE, self._site.limits.kubernetes),
                        interval=self._site.limits.interval,
                    )
                self._found = seen
            return self._found

    async def _sick(self) -> frozenset[str]:
        etcd = await look_at_etcd(await self._secrets.fleet(), self._site.cluster.control_planes)
        nodes: dict[str, Object] = {}
        with contextlib.suppress(TalopsError):  # then the gate of the nodes is closed
            nodes = await self._kube.nodes()
        return etcd.sick | {name for name, node in nodes.items() if condition(node, "Ready")}
