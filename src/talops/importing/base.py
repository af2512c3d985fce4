"""What `talosctl gen config` writes: where the other tools start before they patch it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talops.machineconfig.generate import generate
from talops.machineconfig.request import ClusterRequest, NodeRequest

if TYPE_CHECKING:
    from talops.importing.model import Document
    from talops.machineconfig.contract import Contract
    from talops.machineconfig.secrets.bundle import Bundle

POD_SUBNETS, SERVICE_SUBNETS = ("10.244.0.0/16",), ("10.96.0.0/12",)


@dataclass(frozen=True)
class Base:
    """The options of `talosctl gen config`."""

    name: str
    endpoint: str
    contract: Contract
    kubernetes_version: str
    bundle: Bundle = field(repr=False)
    sans: tuple[str, ...] = ()
    machine_sans: tuple[str, ...] = ()
    dns_domain: str = "cluster.local"
    pod_subnets: tuple[str, ...] = POD_SUBNETS
    service_subnets: tuple[str, ...] = SERVICE_SUBNETS
    schedule_on_control_planes: bool = False

    def documents(self, *, controller: bool, installer: str, disk: str = "") -> list[Document]:
        cluster = ClusterRequest(
            name=self.name,
            contract=self.contract,
            endpoint=self.endpoint,
            kubernetes_version=self.kubernetes_version.removeprefix("v"),
            dns_domain=self.dns_domain,
            pod_subnets=self.pod_subnets,
            service_subnets=self.service_subnets,
            schedule_on_control_planes=self.schedule_on_control_planes,
        )
        node = NodeRequest(
            name="node", control_plane=controller, installer=installer, disk=disk or "/dev/sda"
        )
        documents = [*generate(cluster, node, self.bundle).documents]
        main = documents[0]
        main["machine"] = {**main["machine"], "certSANs": list(self.machine_sans)}
        if not disk and "install" in main["machine"]:
            install = main["machine"]["install"]
            main["machine"]["install"] = {k: v for k, v in install.items() if k != "disk"}
        if controller and self.sans:
            self._name_the_api(documents)
        return documents

    def _name_the_api(self, documents: list[Document]) -> None:
        names = list(self.sans)
        for document in documents:
            if document.get("kind") == "KubeAPIServerConfig":
                document["certExtraSANs"] = names
        cluster: dict[str, Any] = documents[0]["cluster"]
        if "apiServer" in cluster:
            server = {**cluster["apiServer"], "certSANs": names}
            documents[0]["cluster"] = {**cluster, "apiServer": server}
