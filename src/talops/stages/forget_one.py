"""Stage `forget` for one node: remove it from Kubernetes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError, UnreachableError
from talops.kube.kubeconfig import load
from talops.kube.objects import Ref
from talops.pipeline.stage import Change, Stage
from talops.site.connections import Connections

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site


@dataclass(frozen=True)
class Facts:
    """`known`: Kubernetes lists it. `silent`: why Kubernetes did not answer."""

    known: bool
    silent: str = ""


class ForgetOne(Stage[Facts, Change]):
    """Pods of a removed node stay bound to it until its Node object is deleted."""

    name = "forget"

    def __init__(self, site: Site, node: Node, secrets: SecretsFile, report: Reporter) -> None:
        self._site = site
        self._node = node
        self._connections = Connections(site, secrets)
        self._report = report

    async def observe(self) -> Facts:
        if load(self._site.kubeconfig, self._site.cluster.name) is None:
            return Facts(known=False, silent="there is no kubeconfig")
        try:
            nodes = await self._connections.kube_nodes()
        except UnreachableError as error:
            return Facts(known=False, silent=error.what)
        return Facts(self._node.name in nodes)

    def plan(self, facts: Facts) -> list[Change]:
        name = self._node.name
        return [Change("remove", f"Node {name}", "from Kubernetes", name)] if facts.known else []

    async def apply(self, change: Change) -> None:  # noqa: ARG002  (there is only one)
        async with self._connections.kube() as kube:
            await kube.delete(Ref("v1", "Node", self._node.name))

    async def verify(self, _: Seen[Facts, Change], /) -> None:
        facts = await self.observe()
        if facts.known:
            raise TalopsError(
                f"Kubernetes still lists node {self._node.name}",
                hint=(
                    "if its kubelet still runs, stop it; then: kubectl delete node "
                    f"{self._node.name}"
                ),
            )
        if facts.silent:
            self._report.note(
                f"Kubernetes did not answer, so the node was not removed from it: {facts.silent}",
                level="warning",
                hint=f"when Kubernetes answers again: kubectl delete node {self._node.name}",
            )
