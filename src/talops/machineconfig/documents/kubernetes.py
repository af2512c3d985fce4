"""The Kubernetes documents of Talos 1.14: one per component instead of fields of the main one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig import images
from talops.machineconfig.documents.document import document
from talops.machineconfig.documents.policies import AUDIT_POLICY, POD_SECURITY
from talops.machineconfig.secrets import pem
from talops.machineconfig.secrets.rotating import Rotated

if TYPE_CHECKING:
    from talops.machineconfig.request import ClusterRequest, NodeRequest
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.machineconfig.secrets.pki import Pair

KUBEPRISM_PORT = 7445
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
NO_EXTERNAL_LB = "node.kubernetes.io/exclude-from-external-load-balancers"
FLANNEL = {"backendType": "vxlan", "backendPort": 4789}
# Health checks of load balancers have no credentials.
_OPEN_PATHS = ("/livez", "/readyz", "/healthz")


def kubernetes_documents(
    cluster: ClusterRequest, node: NodeRequest, bundle: Bundle
) -> list[dict[str, Any]]:
    return [
        document("KubeClusterConfig", clusterName=cluster.name, endpoint=cluster.endpoint),
        _node(cluster, node),
        document(
            "KubeletConfig",
            image=images.tagged(images.KUBELET, cluster.kubernetes_version),
            defaultRuntimeSeccompProfileEnabled=True,
        ),
        document(
            "KubeNetworkConfig",
            dnsDomain=cluster.dns_domain,
            podSubnets=list(cluster.pod_subnets),
            serviceSubnets=list(cluster.service_subnets),
        ),
        _api_server_ca(node, bundle),
        document("KubePrismConfig", port=KUBEPRISM_PORT),
        *(_control_plane(cluster, bundle) if node.control_plane else ()),
    ]


def _node(cluster: ClusterRequest, node: NodeRequest) -> dict[str, Any]:
    """All labels and taints of a node: unlike in the main document, Talos adds none to them."""
    labels, taints = dict(node.labels), {t.key: f"{t.value}:{t.effect}" for t in node.taints}
    if node.control_plane:
        labels = {CONTROL_PLANE: "", NO_EXTERNAL_LB: ""} | labels
    if node.control_plane and not cluster.schedule_on_control_planes:
        taints = {CONTROL_PLANE: "NoSchedule"} | taints
    fields: dict[str, Any] = {"labels": labels, "taints": taints}
    if cluster.node_subnet:
        fields = {"nodeIP": {"validSubnets": [cluster.node_subnet]}} | fields
    return document("KubeNodeConfig", **{key: value for key, value in fields.items() if value})


def _api_server_ca(node: NodeRequest, bundle: Bundle) -> dict[str, Any]:
    others = [_text(pair.crt) for pair in bundle.accepted(Rotated.KUBERNETES_CA)]
    if node.control_plane:
        more: dict[str, Any] = {"acceptedCAs": others} if others else {}
        return document("KubeAPIServerCAConfig", issuingCA=_pair(bundle.k8s), **more)
    return document("KubeAPIServerCAConfig", acceptedCAs=[_text(bundle.k8s.crt), *others])


def _control_plane(cluster: ClusterRequest, bundle: Bundle) -> list[dict[str, Any]]:
    return [
        document("KubeAggregatorCAConfig", issuingCA=_pair(bundle.aggregator)),
        document("KubeAdmissionControlConfig", name="PodSecurity", configuration=POD_SECURITY),
        document("KubeAuditPolicyConfig", configuration=AUDIT_POLICY),
        document("KubeAuthenticationConfig", configuration=_authentication()),
        document("KubeAuthorizerConfig", name="node", type="Node"),
        document("KubeAuthorizerConfig", name="rbac", type="RBAC"),
        document("KubeEtcdEncryptionConfig", config=_encryption(bundle)),
        _service_account(cluster, bundle),
        *_components(cluster),
    ]


def _components(cluster: ClusterRequest) -> list[dict[str, Any]]:
    def tagged(image: str) -> str:
        return images.tagged(image, cluster.kubernetes_version)

    names = {"certExtraSANs": list(cluster.cert_sans)} if cluster.cert_sans else {}
    proxy: dict[str, Any] = {} if cluster.kube_proxy else {"enabled": False}
    return [
        document("KubeAPIServerConfig", image=tagged(images.APISERVER), **names),
        document("KubeControllerManagerConfig", image=tagged(images.CONTROLLER_MANAGER)),
        document("KubeSchedulerConfig", image=tagged(images.SCHEDULER)),
        document("KubeProxyConfig", **proxy, image=tagged(images.PROXY)),
        # Without a network document, Talos does not install a network.
        *([document("KubeFlannelCNIConfig", **FLANNEL)] if cluster.cni == "flannel" else []),
        document("KubeCoreDNSConfig", enabled=True),
    ]


def _authentication() -> dict[str, Any]:
    conditions = [{"path": path} for path in _OPEN_PATHS]
    return {"anonymous": {"enabled": True, "conditions": conditions}, "jwt": []}


def _service_account(cluster: ClusterRequest, bundle: Bundle) -> dict[str, Any]:
    keys = [
        pem.public_pem(_text(pair.key.reveal()))
        for pair in bundle.accepted(Rotated.SERVICE_ACCOUNT)
    ]
    return document(
        "KubeServiceAccountConfig",
        issuer={
            "privateKey": _text(bundle.service_account.reveal()),
            "issuerURL": cluster.endpoint,
        },
        **({"accepted": {"publicKeys": keys}} if keys else {}),
    )


def _encryption(bundle: Bundle) -> dict[str, Any]:
    """Names and order of older Talos: a value in etcd names its encryption key. The first key of
    the first provider encrypts.
    """
    rotation = bundle.rotations.get(Rotated.ENCRYPTION)
    other = rotation.accepted if rotation else None
    secretbox = [(bundle.secretbox_name, bundle.secretbox)] if bundle.secretbox else []
    if rotation and other:
        secretbox.append((rotation.name, other.key))
    keys = {"secretbox": secretbox, "aescbc": [("key1", bundle.aescbc)] if bundle.aescbc else []}
    providers = [
        {provider: {"keys": [{"name": n, "secret": secret.reveal()} for n, secret in listed]}}
        for provider, listed in keys.items()
        if listed
    ]
    return {"resources": [{"providers": providers, "resources": ["secrets"]}]}


def _pair(pair: Pair) -> dict[str, str]:
    return {"cert": _text(pair.crt), "key": _text(pair.key.reveal())}


def _text(one_line: str) -> str:
    """The decoded PEM, as these documents contain it."""
    return pem.from_one_line(one_line).decode()
