"""What differs between nodes in the recorded content: names, addresses, secrets."""

from __future__ import annotations

import base64
import contextlib
import ipaddress
from typing import TYPE_CHECKING

from talops.lab.kubernetes.pki import Authority, KeyPair, Subject
from talops.lab.talos.resources.kinds import COMPONENTS

if TYPE_CHECKING:
    from talops.lab.talos.machine.node import Node

_PREFIX = 24
_SIGNERS = {"etcd": ("etcd", "ca"), "k8s": ("ca",), "aggregator": ("aggregatorCA",)}
# Certificates that a node creates, and the authority that signs each.
_LEAFS = {
    "api_server": "k8s",
    "api_server_kubelet_client": "k8s",
    "kubeconfig": "k8s",
    "front_proxy": "aggregator",
    "etcd": "etcd",
    "etcd_admin": "etcd",
    "etcd_api_server": "etcd",
    "etcd_peer": "etcd",
    "client": "os",
}


class Values:
    """Placeholders by name; `bytes:` and `b64:` ask for base64, `ip:` for a packed address,
    `image:` and `config_version:` for those of a component.
    """

    def __init__(self, node: Node) -> None:
        self.node = node

    def text(self, name: str) -> str:
        form, _, rest = name.partition(":")
        if rest and form in {"bytes", "b64"}:
            return base64.b64encode(self._bytes(rest)).decode()
        if rest and form == "ip":
            return base64.b64encode(_packed(self.text(rest))).decode()
        if form in {"image", "config_version"} and self.node.config is not None:
            return self._component(form, rest)
        return self._machine(name) if name in _MACHINE else self._cluster(name)

    def _component(self, form: str, name: str) -> str:
        config = self.node.config
        assert config is not None
        if form == "config_version":
            found = self.node.resources.get((*COMPONENTS[name], name))
            return str(found.version if found is not None else 1)
        return config.kubelet_image if name == "kubelet" else config.static_pod_images()[name]

    def _machine(self, name: str) -> str:
        node, address = self.node, self._address
        found = {
            "hostname": node.hostname,
            "version": node.version,
            "node_id": node.machine.uuid.replace("-", ""),
            "mac": node.macs[0] if node.macs else "",
            "address": address,
            "gateway": str(next(ipaddress.ip_network(self._subnet).hosts())),
            "subnet": self._subnet,
            "network": self._subnet.partition("/")[0],
        }
        return found[name]

    def _cluster(self, name: str) -> str:
        config = self.node.config
        if config is None:
            return ""
        first, _, second = str(config.cluster.get("token", "")).partition(".")
        found = {
            "endpoint_host": config.endpoint_host,
            "kubernetes_version": config.kubelet_version,
            "cluster_name": config.cluster_name,
            "cluster_id": config.cluster_id,
            "cluster_secret": str(config.cluster.get("secret", "")),
            "token": str(config.machine.get("token", "")),
            "secretbox": str(config.cluster.get("secretboxEncryptionSecret") or ""),
            "bootstrap_id": first,
            "bootstrap_secret": second,
        }
        return found[name]

    @property
    def _address(self) -> str:
        return self.node.addresses[0] if self.node.addresses else "127.0.0.1"

    @property
    def _subnet(self) -> str:
        return str(ipaddress.ip_network(f"{self._address}/{_PREFIX}", strict=False))

    def _bytes(self, name: str) -> bytes:
        if name == "mac":
            return bytes.fromhex(self.text("mac").replace(":", ""))
        pair, _, part = name.removeprefix("leaf:").rpartition(".")
        found = self._leaf(pair) if name.startswith("leaf:") else self._pair(pair)
        return found.crt if part == "crt" else found.key

    def _pair(self, name: str) -> KeyPair:
        config = self.node.config
        if config is None:
            return KeyPair(b"", b"")
        if name == "service_account":
            return KeyPair(b"", config.service_account_key)
        return config.os_ca if name == "os" else config.authority(*_SIGNERS[name])

    def _leaf(self, name: str) -> KeyPair:
        """Created once per boot; apid shows the same one."""
        apid = self.node.apid
        if name == "ca":
            return apid.throwaway
        if name == "server":
            return apid.pair
        if name not in self.node.certificates:
            pair = KeyPair(b"", b"")
            with contextlib.suppress(TypeError):  # an RSA authority, which the lab cannot use
                subject = Subject(f"{name.replace('_', '-')}", client=True)
                pair = Authority(self._pair(_LEAFS[name])).issue(subject)
            self.node.certificates[name] = pair
        return self.node.certificates[name]


_MACHINE = {"hostname", "version", "node_id", "mac", "address", "gateway", "subnet", "network"}


def _packed(address: str) -> bytes:
    try:
        return ipaddress.ip_address(address).packed
    except ValueError:  # a name
        return b""
