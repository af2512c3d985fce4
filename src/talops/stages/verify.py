"""Stage `verify`: the cluster matches the inventory, as seen from Talos and from Kubernetes."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.checks.after import (
    api,
    certificates,
    endpoint,
    etcd,
    flux,
    gpus,
    machines,
    members,
    nodes,
    smoke,
    storage,
    versions,
)
from talops.errors import TalopsError
from talops.kube.conditions import condition
from talops.kube.kubeconfig import load
from talops.pipeline.checks import Check, Verdict, failures, run_checks, skipped
from talops.pipeline.stage import Absent, Change, Stage
from talops.site.connections import Connections, values_of
from talops.talos.kinds import MACHINE_ID, MACHINE_STATUS
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.checks import CheckResult, Finding
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site


# Reasons to show while the cluster is not ready; the first may only be an effect of the second.
SHOWN = 3
# A part of the cluster that does not answer must not delay the plan for longer.
FIRST_LOOK = 5.0


def verify_checks(connections: Connections) -> list[Check]:
    """Checks that only read."""
    return [
        Check("members", lambda: members.look(connections)),
        Check("machines", lambda: machines.look(connections)),
        Check("versions", lambda: versions.look(connections)),
        Check("etcd", lambda: etcd.look(connections)),
        Check("nodes", lambda: nodes.look(connections)),
        Check("endpoint", lambda: endpoint.look(connections)),
        Check("api", lambda: api.look(connections)),
        Check("certificates", lambda: certificates.look(connections)),
        Check("gpus", lambda: gpus.look(connections)),
        Check("flux", lambda: flux.look(connections)),
        Check("storage", lambda: storage.look(connections)),
    ]


def active_checks(connections: Connections, *, run_smoke: bool, move_vip: bool) -> list[Check]:
    """Checks that change something, for a cluster that is healthy."""

    async def not_asked(flag: str) -> list[Finding]:
        return [skipped("not requested", hint=f"talops verify {flag}")]

    return [
        Check("smoke", lambda: smoke.look(connections) if run_smoke else not_asked("--smoke")),
        Check(
            "vip-move", lambda: endpoint.move(connections) if move_vip else not_asked("--move-vip")
        ),
    ]


@dataclass(frozen=True)
class Facts:
    """The results of the first round if all passed: a second round would find the same."""

    good: Sequence[CheckResult] = ()


class Verify(Stage[Facts, Change]):
    name = "verify"

    def __init__(self, site: Site, secrets: SecretsFile, report: Reporter) -> None:
        self._site = site
        self._connections = Connections(site, secrets)
        self._report = report

    async def observe(self) -> Facts | Absent:
        """A first round, in parallel with other stages; `verify` waits for the rest."""
        if load(self._site.kubeconfig) is None:
            return Absent("kubeconfig", "there is no kubeconfig yet")
        with contextlib.suppress(TalopsError, TimeoutError):
            async with asyncio.timeout(FIRST_LOOK):
                found = await self._look()
            return Facts(found.value if isinstance(found, Ready) else ())
        return Facts()

    def plan(self, facts: Facts) -> list[Change]:  # noqa: ARG002  (verification changes nothing)
        return []

    async def apply(self, change: Change) -> None:
        raise TalopsError(f"bug: the stage verify changes nothing, but got the change {change}")

    async def verify(self, seen: Seen[Facts, Change], /) -> None:
        for result in seen.facts.good or await self._wait():
            for finding in result.findings:
                self._report.log(f"{result.name}: {finding.verdict}: {finding}")
                if finding.verdict is Verdict.WARNING:
                    self._report.note(f"{result.name}: {finding}", level="warning")

    async def _wait(self) -> Sequence[CheckResult]:
        return await wait_for(
            "the cluster to match the inventory",
            self._look,
            timeout=self._site.limits.kubernetes,
            interval=self._site.limits.interval,
            hint="talops verify",
            report=self._report.waiting,
        )

    async def _look(self) -> Ready[Sequence[CheckResult]] | NotYet:
        async with self._connections.one_look():
            results = await run_checks(verify_checks(self._connections))
            wrong = failures(results)
            for finding in wrong:
                if finding.final:
                    raise TalopsError(finding.what, where=finding.where, hint=finding.hint)
            await self._show_nodes()
        if not wrong:
            return Ready(results)
        more = f" (and {len(wrong) - SHOWN} more)" if len(wrong) > SHOWN else ""
        return NotYet("; ".join(map(str, wrong[:SHOWN])) + more)

    async def _show_nodes(self) -> None:
        seen = await self._connections.kube_nodes()
        for node in self._site.cluster.nodes:
            ready = node.name in seen and not condition(seen[node.name], "Ready")
            self._report.node(node.name, kubernetes="Ready" if ready else "NotReady")
        statuses = await self._connections.ask(
            self._site.cluster.nodes,
            lambda talos: talos.resources.find(MACHINE_STATUS, MACHINE_ID),
        )
        for name, status in values_of(statuses).items():
            self._report.node(name, talos=status.stage if status else "unknown")
