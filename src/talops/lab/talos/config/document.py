"""A machine config as the node reads it: one v1alpha1 document and any number of others."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from talops.lab.kubernetes.pki import KeyPair, from_base64
from talops.lab.talos.config import fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Document = dict[str, Any]
# Where the main document configures each static pod.
COMPONENT_SECTIONS = {
    "kube-apiserver": "apiServer",
    "kube-controller-manager": "controllerManager",
    "kube-scheduler": "scheduler",
}


@dataclass(frozen=True)
class MachineConfig:
    """Typed access to the documents; `raw` is what was applied, byte for byte."""

    raw: bytes
    documents: tuple[Document, ...]

    @functools.cached_property
    def v1alpha1(self) -> Document | None:
        return next((d for d in self.documents if "kind" not in d), None)

    @functools.cached_property
    def machine(self) -> Document:
        return fold.machine(self.documents) | ((self.v1alpha1 or {}).get("machine") or {})

    @functools.cached_property
    def cluster(self) -> Document:
        return fold.cluster(self.documents) | ((self.v1alpha1 or {}).get("cluster") or {})

    @property
    def unattended(self) -> bool:
        """Whether a separate document configures the installation."""
        return any(True for _ in self.of_kind("UnattendedInstallConfig"))

    @property
    def names_whole_node(self) -> bool:
        """Whether a separate document lists the node's labels and taints: Talos adds none."""
        return any(True for _ in self.of_kind("KubeNodeConfig"))

    def of_kind(self, kind: str) -> Iterator[Document]:
        return (d for d in self.documents if d.get("kind") == kind)

    @property
    def type(self) -> str:
        return str(self.machine.get("type", "worker"))

    @property
    def control_plane(self) -> bool:
        return self.type in {"controlplane", "init"}

    @property
    def complete(self) -> bool:
        return self.v1alpha1 is not None

    @property
    def hostname(self) -> str | None:
        for document in self.of_kind("HostnameConfig"):
            if document.get("hostname"):
                return str(document["hostname"])
        name = (self.machine.get("network") or {}).get("hostname")
        return str(name) if name else None

    @property
    def cluster_id(self) -> str:
        return str(self.cluster.get("id", ""))

    @property
    def cluster_name(self) -> str:
        return str(self.cluster.get("clusterName", ""))

    @property
    def discovery(self) -> bool:
        """Whether this node uses discovery; the default of a config is no."""
        return bool((self.cluster.get("discovery") or {}).get("enabled"))

    @property
    def discovery_service(self) -> bool:
        registries = (self.cluster.get("discovery") or {}).get("registries") or {}
        return self.discovery and not (registries.get("service") or {}).get("disabled")

    @property
    def endpoint(self) -> str:
        return str((self.cluster.get("controlPlane") or {}).get("endpoint", ""))

    @property
    def endpoint_host(self) -> str:
        return urlsplit(self.endpoint).hostname or ""

    @property
    def os_ca(self) -> KeyPair:
        return _pair(self.machine.get("ca"))

    @property
    def trusted_os_cas(self) -> bytes:
        accepted = self.machine.get("acceptedCAs") or []
        found = [self.os_ca.crt, *(from_base64(item["crt"]) for item in accepted)]
        return b"".join(pem.rstrip(b"\n") + b"\n" for pem in found if pem)

    @property
    def trusted_kubernetes_cas(self) -> bytes:
        """The one that signs first; a worker only trusts."""
        accepted = self.cluster.get("acceptedCAs") or []
        found = [self.authority("ca").crt, *(from_base64(item["crt"]) for item in accepted)]
        return b"".join(pem.rstrip(b"\n") + b"\n" for pem in found if pem)

    @property
    def accepted_service_account_keys(self) -> bytes:
        """Public keys that tokens may be signed with, besides the private one."""
        return str((self.cluster.get("serviceAccount") or {}).get("accepted") or "").encode()

    @property
    def encryption_keys(self) -> tuple[tuple[str, str], ...]:
        """(name, secret) of the secretbox keys; the first one encrypts."""
        keys = self.cluster.get("secretboxKeys")
        if keys:
            return tuple((str(key["name"]), str(key["secret"])) for key in keys)
        secret = str(self.cluster.get("secretboxEncryptionSecret") or "")
        return (("key2", secret),) if secret else ()

    @property
    def cert_sans(self) -> tuple[str, ...]:
        return tuple(map(str, self.machine.get("certSANs") or ()))

    def authority(self, *path: str) -> KeyPair:
        """A CA of the cluster section: `ca`, `aggregatorCA` or `etcd`, `ca`."""
        found: Any = self.cluster
        for part in path:
            found = (found or {}).get(part)
        return _pair(found)

    @property
    def service_account_key(self) -> bytes:
        return from_base64((self.cluster.get("serviceAccount") or {}).get("key", ""))

    @property
    def service_cidrs(self) -> tuple[str, ...]:
        network = self.cluster.get("network") or {}
        return tuple(network.get("serviceSubnets") or ("10.96.0.0/12",))

    @property
    def pod_cidrs(self) -> tuple[str, ...]:
        network = self.cluster.get("network") or {}
        return tuple(network.get("podSubnets") or ("10.244.0.0/16",))

    @property
    def install(self) -> Document:
        return self.machine.get("install") or {}

    @property
    def kubelet_image(self) -> str:
        return str((self.machine.get("kubelet") or {}).get("image", ""))

    @property
    def kubelet_version(self) -> str:
        return image_tag(self.kubelet_image)

    @property
    def vips(self) -> tuple[str, ...]:
        shared = [str(d["name"]) for d in self.of_kind("Layer2VIPConfig")]
        for interface in (self.machine.get("network") or {}).get("interfaces") or ():
            address = (interface.get("vip") or {}).get("ip")
            shared += [str(address)] if address else []
        return tuple(dict.fromkeys(shared))

    @property
    def taints(self) -> tuple[dict[str, str], ...]:
        return tuple(_taint(k, str(v)) for k, v in (self.machine.get("nodeTaints") or {}).items())

    @property
    def labels(self) -> Mapping[str, str]:
        return {k: str(v) for k, v in (self.machine.get("nodeLabels") or {}).items()}

    @property
    def annotations(self) -> Mapping[str, str]:
        return {k: str(v) for k, v in (self.machine.get("nodeAnnotations") or {}).items()}

    @property
    def schedulable(self) -> bool:
        return not self.control_plane or bool(self.cluster.get("allowSchedulingOnControlPlanes"))

    def static_pod_images(self) -> dict[str, str]:
        """Only the images that this config pins; Talos uses its defaults for the rest."""
        version = self.kubelet_version
        return {
            name: str(
                (self.cluster.get(key) or {}).get("image", f"registry.k8s.io/{name}:{version}")
            )
            for name, key in COMPONENT_SECTIONS.items()
        }


def image_tag(image: str) -> str:
    """The version in an image reference, without a digest."""
    return image.split("@", maxsplit=1)[0].rpartition("/")[2].partition(":")[2]


def link_addresses(config: MachineConfig, macs: tuple[str, ...]) -> tuple[str, ...]:
    """Static addresses (without prefix) on links that this machine really has."""
    names = link_aliases(config, macs)
    links = {**names, **{f"eth{i}": mac for i, mac in enumerate(macs)}}
    found: list[str] = []
    for document in (*config.of_kind("LinkConfig"), *config.of_kind("VLANConfig")):
        if document.get("parent", document.get("name")) in links:
            found += [item["address"] for item in document.get("addresses") or ()]
    for interface in (config.machine.get("network") or {}).get("interfaces") or ():
        if _interface_matches(interface, links, macs):
            found += interface.get("addresses") or []
            for vlan in interface.get("vlans") or ():
                found += vlan.get("addresses") or []
    return tuple(dict.fromkeys(str(address).partition("/")[0] for address in found))


def link_aliases(config: MachineConfig | None, macs: tuple[str, ...]) -> dict[str, str]:
    """Alias to MAC, for the links that this machine really has."""
    found = {}
    for document in config.of_kind("LinkAliasConfig") if config else ():
        wanted = re.search(
            r"([0-9a-f]{2}(?::[0-9a-f]{2}){5})", str(document.get("selector")).lower()
        )
        if wanted and wanted[1] in macs:
            found[str(document["name"])] = wanted[1]
    return found


def _interface_matches(
    interface: Document, links: Mapping[str, str], macs: tuple[str, ...]
) -> bool:
    selector = interface.get("deviceSelector") or {}
    wanted = str(selector.get("hardwareAddr") or selector.get("permanentAddr") or "").lower()
    return interface.get("interface") in links or (bool(wanted) and wanted in macs)


def _pair(section: Any) -> KeyPair:
    content = section or {}
    return KeyPair(from_base64(content.get("crt", "")), from_base64(content.get("key") or ""))


def _taint(key: str, text: str) -> dict[str, str]:
    value, _, effect = text.rpartition(":")
    return {"key": key, "effect": effect, **({"value": value} if value else {})}
