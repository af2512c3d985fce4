"""The add-ons of an inventory, and the values that talops adds to their charts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.gitops.flux import namespace, secret
from talops.inventory.support import knows_cdi
from talops.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.inventory.model import Cluster, TrueNas

Object = dict[str, Any]

RUNTIME_CLASS = "nvidia"
CSI_NAMESPACE, CSI_SECRET = "csi-proxmox", "proxmox-csi-plugin"
NAS_SECRET = "truenas-api"  # noqa: S105  (as below)
CCM_SECRET = "proxmox-cloud-controller-manager"  # noqa: S105  (as above)


@dataclass(frozen=True)
class Lacking:
    namespace: str
    secret: str
    error: TalopsError


@dataclass(frozen=True)
class Addon:
    """A release with values, objects from talops, or both."""

    name: str
    release: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    user_values: str | None = None
    own: tuple[Object, ...] = ()
    # The Secret that cannot be made, and what is missing for it; an existing one stays as it is.
    lacking: Lacking | None = None

    def __repr__(self) -> str:
        return f"Addon({self.name})"


def wanted(cluster: Cluster, credentials: Mapping[str, Secret]) -> list[Addon]:
    """In the order they are applied: the CNI first, because nothing else can start without it."""
    found: list[Addon] = []
    if cluster.cni.name == "cilium":
        found.append(_cilium(cluster))
    if cluster.addons.metrics_server:
        found.append(Addon("metrics-server", "metrics-server"))
    if _nvidia(cluster):
        cdi = knows_cdi(cluster.talos_version)
        found.append(_gpu_operator() if cdi else _device_plugin(cluster))
    if cluster.addons.proxmox_csi:
        place = (CSI_NAMESPACE, CSI_SECRET)
        found.append(_proxmox(cluster, credentials, "csi", place, (namespace(CSI_NAMESPACE),)))
    if cluster.addons.proxmox_ccm:
        found.append(_proxmox(cluster, credentials, "ccm", ("kube-system", CCM_SECRET), ()))
    if cluster.truenas:
        found.append(_truenas(cluster.truenas, credentials))
    return found


def _truenas(nas: TrueNas, credentials: Mapping[str, Secret]) -> Addon:
    """API key, address and dataset for the CSI driver that Flux installs."""
    key = credentials.get("truenas_api_key")
    if not key:
        raise TalopsError(
            f"the Secret {NAS_SECRET} requires an API key, and none is set",
            where="cluster.yaml",
            hint="talops secrets set truenas_api_key",
        )
    place = nas.secret_namespace
    held = secret(NAS_SECRET, {"api-key": key, "url": nas.url, "pool": nas.pool}, place)
    return Addon("truenas credentials", own=(namespace(place), held))


def _cilium(cluster: Cluster) -> Addon:
    """Cilium settings for Talos; the user's values take precedence."""
    values: dict[str, Any] = {
        "ipam": {"mode": "kubernetes"},
        "kubeProxyReplacement": not cluster.cni.kube_proxy,
        "cgroup": {"autoMount": {"enabled": False}, "hostRoot": "/sys/fs/cgroup"},
        "securityContext": {
            "capabilities": {
                "ciliumAgent": [
                    *("CHOWN", "KILL", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "SYS_ADMIN"),
                    *("SYS_RESOURCE", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"),
                ],
                "cleanCiliumState": ["NET_ADMIN", "SYS_ADMIN", "SYS_RESOURCE"],
            }
        },
    }
    if not cluster.cni.kube_proxy:  # KubePrism, on every Talos node
        values |= {"k8sServiceHost": "localhost", "k8sServicePort": 7445}
    return Addon("cilium", "cilium", values, cluster.cni.values)


def _nvidia(cluster: Cluster) -> bool:
    asked = cluster.addons.nvidia
    return bool(_gpu_nodes(cluster)) if asked is None else asked


def _gpu_nodes(cluster: Cluster) -> list[str]:
    """GPUs with NVIDIA drivers; cards of other vendors need another device plugin."""
    return [
        node.name
        for node in cluster.nodes
        if node.gpus and any(module.startswith("nvidia") for module in node.kernel_modules)
    ]


def _gpu_operator() -> Addon:
    """Driver and toolkit are extensions of Talos; the operator finds them where Talos has them.

    It looks for the GPUs itself, by their PCI vendor, so it needs no list of nodes.
    """
    name = "gpu-operator"
    values: dict[str, Any] = {
        "driver": {"enabled": False},
        "toolkit": {"enabled": False},
        "hostPaths": {"driverInstallDir": "/usr/local"},
    }
    place = namespace(name)
    place["metadata"]["labels"] = {"pod-security.kubernetes.io/enforce": "privileged"}
    return Addon(name, name, values, own=(place,))


def _device_plugin(cluster: Cluster) -> Addon:
    """Below Talos 1.13, GPUs reach pods by NVIDIA's own container runtime."""
    values: dict[str, Any] = {"runtimeClassName": RUNTIME_CLASS}
    if nodes := _gpu_nodes(cluster):
        term = {"key": "kubernetes.io/hostname", "operator": "In", "values": nodes}
        terms = [{"matchExpressions": [term]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        values["affinity"] = {"nodeAffinity": required}
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": RUNTIME_CLASS},
        "handler": RUNTIME_CLASS,
    }
    name = "nvidia-device-plugin"
    return Addon(name, name, values, own=(runtime,))


def _proxmox(
    cluster: Cluster,
    credentials: Mapping[str, Secret],
    key: str,
    place: tuple[str, str],
    before: tuple[Object, ...],
) -> Addon:
    """With the plugin's own token: talops' own can destroy every VM and stays outside."""
    name = f"proxmox-{key} credentials"
    config = _proxmox_config(cluster, credentials, f"proxmox_{key}")
    if isinstance(config, TalopsError):
        return Addon(name, lacking=Lacking(*place, config))
    return Addon(name, own=(*before, secret(place[1], config, place[0])))


def _proxmox_config(
    cluster: Cluster, credentials: Mapping[str, Secret], addon: str
) -> dict[str, Secret] | TalopsError:
    """config.yaml of both Proxmox plugins; JSON is valid YAML."""
    token, value = (credentials.get(f"{addon}_token_{part}") for part in ("id", "secret"))
    if cluster.proxmox is None:
        raise TalopsError(
            f"addons.{addon} requires Proxmox, which is not configured",
            where="cluster.yaml",
            hint=f"add proxmox_api_url and proxmox_node, or remove addons.{addon}",
        )
    if not token or not value:
        return TalopsError(
            f"addons.{addon} has no Proxmox token of its own",
            where="cluster.yaml",
            hint="talops host prepare --user root@pam",
        )
    if token == credentials.get("proxmox_api_token_id"):
        raise TalopsError(
            f"addons.{addon} has talops' own Proxmox token, which can destroy every VM",
            where=f"{addon}_token_id",
            hint="talops host prepare --user root@pam creates another one",
        )
    entry = {
        "url": f"{cluster.proxmox.api_url}/api2/json",
        "insecure": cluster.proxmox.insecure,
        "token_id": token.reveal(),
        "token_secret": value.reveal(),
        "region": cluster.name,
    }
    return {"config.yaml": Secret(json.dumps({"clusters": [entry]}))}
