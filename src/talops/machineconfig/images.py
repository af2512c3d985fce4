"""Image references of a config."""

from __future__ import annotations

KUBELET = "ghcr.io/siderolabs/kubelet"
APISERVER = "registry.k8s.io/kube-apiserver"
CONTROLLER_MANAGER = "registry.k8s.io/kube-controller-manager"
PROXY = "registry.k8s.io/kube-proxy"
SCHEDULER = "registry.k8s.io/kube-scheduler"


def tagged(image: str, version: str) -> str:
    return f"{image}:v{version.removeprefix('v')}"


def installer(
    factory: str, schematic: str, version: str, *, platform: str, secureboot: bool
) -> str:
    """The installer of a schematic; `factory` is the Image Factory's URL or host name."""
    host = factory.split("://", 1)[-1].rstrip("/")
    kind = f"{platform}-installer" + ("-secureboot" if secureboot else "")
    return tagged(f"{host}/{kind}/{schematic}", version)
