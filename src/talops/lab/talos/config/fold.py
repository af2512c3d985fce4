"""A config of contract 1.14 in the structure of earlier contracts.

Since 1.14 most of the main document's fields are in separate documents. What the lab reads
of them is put where it was, so that the rest of a node asks one question in one place; what the
main document says itself counts.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Document = dict[str, Any]
_AUTHORITIES = {"ca": "KubeAPIServerCAConfig", "aggregatorCA": "KubeAggregatorCAConfig"}
_COMPONENTS = {
    "apiServer": "KubeAPIServerConfig",
    "controllerManager": "KubeControllerManagerConfig",
    "scheduler": "KubeSchedulerConfig",
}
_SWITCHED = {"proxy": "KubeProxyConfig", "coreDNS": "KubeCoreDNSConfig"}


class Documents:
    """Finds documents by kind."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = tuple(documents)

    def of(self, kind: str) -> Iterator[Document]:
        return (d for d in self._documents if d.get("kind") == kind)

    def one(self, kind: str) -> Document:
        return next(self.of(kind), {})


def machine(documents: Iterable[Document]) -> Document:
    """What the main document's `machine` would contain."""
    found = Documents(documents)
    node, kubelet = found.one("KubeNodeConfig"), found.one("KubeletConfig")
    install = found.one("UnattendedInstallConfig")
    return _filled(
        {
            "nodeLabels": node.get("labels"),
            "nodeAnnotations": node.get("annotations"),
            "nodeTaints": _taints(node.get("taints") or {}),
            "kubelet": _filled({"image": kubelet.get("image")}),
            "install": _install(install) if install else None,
        }
    )


def cluster(documents: Iterable[Document]) -> Document:
    """What the main document's `cluster` would contain."""
    found = Documents(documents)
    identity, named = found.one("DiscoveryIdentityConfig"), found.one("KubeClusterConfig")
    service_account = found.one("KubeServiceAccountConfig").get("issuer") or {}
    content: Document = {
        "id": identity.get("clusterID"),
        "secret": identity.get("clusterSecret"),
        "clusterName": named.get("clusterName"),
        "controlPlane": _filled({"endpoint": named.get("endpoint")}),
        "discovery": {"enabled": True} if any(found.of("DiscoveryServiceConfig")) else None,
        "network": _network(found),
        "serviceAccount": _filled(
            {
                "key": _base64(service_account.get("privateKey")),
                "accepted": _accepted_keys(found.one("KubeServiceAccountConfig")),
            }
        ),
        "secretboxEncryptionSecret": next(
            (key.get("secret") for key in _secretbox(found.one("KubeEtcdEncryptionConfig"))), None
        ),
        "secretboxKeys": _secretbox(found.one("KubeEtcdEncryptionConfig")),
    }
    for key, kind in _AUTHORITIES.items():
        pair = found.one(kind).get("issuingCA") or {}
        if key == "ca":
            accepted = found.one(kind).get("acceptedCAs") or []
            content["acceptedCAs"] = [{"crt": _base64(text)} for text in accepted]
        content[key] = _filled({"crt": _base64(pair.get("cert")), "key": _base64(pair.get("key"))})
    for key, kind in _COMPONENTS.items():
        own = found.one(kind)
        content[key] = _filled({"image": own.get("image"), "extraArgs": own.get("extraArgs")})
    api = found.one("KubeAPIServerConfig")
    content["apiServer"] |= _filled(
        {"certSANs": api.get("certExtraSANs"), "admissionControl": _admission(found)}
    )
    for key, kind in _SWITCHED.items():
        own = found.one(kind)
        if own:
            off = own.get("enabled") is False
            content[key] = _filled({"disabled": off or None, "image": own.get("image")})
    return _filled(content)


def _filled(content: Document) -> Document:
    return {key: value for key, value in content.items() if value not in (None, {}, [], "")}


def _taints(taints: Document) -> Document:
    return {key: text if ":" in str(text) else f":{text}" for key, text in taints.items()}


def _install(document: Document) -> Document:
    provisioning = document.get("provisioning") or {}
    match = (provisioning.get("diskSelector") or {}).get("match")
    image = (document.get("installer") or {}).get("image")
    return _filled({"image": image, "diskMatch": match})


def _network(found: Documents) -> Document:
    own = found.one("KubeNetworkConfig")
    keys = ("dnsDomain", "podSubnets", "serviceSubnets")
    content = {key: own.get(key) for key in keys}
    if own:
        flannel = any(found.of("KubeFlannelCNIConfig"))
        content["cni"] = {"name": "flannel" if flannel else "none"}
    return _filled(content)


def _admission(found: Documents) -> list[Document]:
    return [
        {"name": d.get("name"), "configuration": d.get("configuration")}
        for d in found.of("KubeAdmissionControlConfig")
    ]


def _secretbox(document: Document) -> list[Document]:
    return [
        key
        for resource in (document.get("config") or {}).get("resources") or ()
        for provider in resource.get("providers") or ()
        for key in (provider.get("secretbox") or {}).get("keys") or ()
    ]


def _accepted_keys(document: Document) -> str:
    return "\n".join((document.get("accepted") or {}).get("publicKeys") or ())


def _base64(text: Any) -> str | None:
    return base64.b64encode(str(text).encode()).decode() if text else None
