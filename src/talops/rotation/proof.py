"""What proves that one node is in a phase: who it accepts, and by which CA it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import DeniedError, TalopsError, UnreachableError
from talops.kube.client import KubeClient
from talops.machineconfig.secrets.rotating import Rotated
from talops.rotation.access import kubernetes_credentials, sides, talos_credentials
from talops.rotation.phases import used
from talops.talos.client import Talos
from talops.talos.errors import ForeignCertificateError
from talops.waiting import NotYet, Ready

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.machineconfig.secrets.pki import Pair
    from talops.reconfigure.proof import ClusterProof
    from talops.rotation.access import Sides


class NodeProof:
    """Asked until everything is proven; each question opens a connection of its own."""

    def __init__(self, node: Node, bundle: Bundle, rotated: Rotated, cluster: ClusterProof) -> None:
        self._node = node
        self._rotated = rotated
        self._cluster = cluster
        self._sides: Sides | None = None
        if rotated in {Rotated.TALOS_CA, Rotated.KUBERNETES_CA}:
            self._sides = sides(used(bundle, rotated), bundle.rotations[rotated])

    async def probe(self) -> Ready[None] | NotYet:
        if self._sides is not None and (reason := await self._wrong(self._sides)):
            return NotYet(reason)
        reason = await self._cluster.missing()
        return NotYet(reason) if reason else Ready(None)

    async def _wrong(self, by: Sides) -> str:
        if self._rotated is Rotated.TALOS_CA:
            return await self._talos(by)
        return await self._kubernetes(by) if self._node.controller else ""

    async def _talos(self, by: Sides) -> str:
        try:
            await self._ask_talos(by.client, by)
        except TalopsError as error:
            return f"its Talos API does not accept the other CA yet: {error.what}"
        if by.refused is None:
            return ""
        try:
            await self._ask_talos(by.refused, by)
        except ForeignCertificateError:
            return ""
        except UnreachableError as error:
            return error.what
        return "its Talos API still accepts the old CA"

    async def _ask_talos(self, client: Pair, by: Sides) -> None:
        credentials = talos_credentials(client, by.server)
        async with Talos.connect(str(self._node.address), credentials) as talos:
            await talos.version()

    async def _kubernetes(self, by: Sides) -> str:
        try:
            await self._ask_kubernetes(by.client, by)
        except TalopsError as error:
            return f"its API server does not accept the other CA yet: {error.what}"
        if by.refused is None:
            return ""
        try:
            await self._ask_kubernetes(by.refused, by)
        except UnreachableError as error:
            return error.what
        except DeniedError:
            return ""
        return "its API server still accepts the old CA"

    async def _ask_kubernetes(self, client: Pair, by: Sides) -> None:
        address = str(self._node.address)
        config = kubernetes_credentials(address, client, by.server)
        async with KubeClient(config) as kube:
            await kube.get_json("/api/v1/namespaces/kube-system")
