"""Machine configs with a PKI of their own, made small and quick for tests."""

from __future__ import annotations

import base64
import datetime as dt
import functools
import io
import secrets
from dataclasses import dataclass, field
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID
from ruamel.yaml import YAML

from talops.lab.kubernetes.pki import Authority, KeyPair, Subject


@functools.cache
def _service_account_key() -> bytes:
    """One for all tests: making an RSA key is slow and nothing depends on its being new."""
    return rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def make_ca(organization: str, *, edwards: bool = False) -> KeyPair:
    key = (
        ed25519.Ed25519PrivateKey.generate() if edwards else ec.generate_private_key(ec.SECP256R1())
    )
    name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier(secrets.token_bytes(20)), critical=False)
        .add_extension(
            x509.KeyUsage(True, False, False, False, False, True, False, False, False),
            critical=True,
        )
        .sign(key, None if edwards else hashes.SHA256())
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    if edwards:
        pem = pem.replace(b"PRIVATE KEY", b"ED25519 PRIVATE KEY")
    return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), pem)


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _pair(pair: KeyPair, *, key: bool = True) -> dict[str, str]:
    return {"crt": _b64(pair.crt), "key": _b64(pair.key) if key else ""}


@dataclass
class ClusterFiles:
    """Everything that one test cluster is made of."""

    endpoint: str
    name: str = "lab"
    os_ca: KeyPair = field(default_factory=lambda: make_ca("talos", edwards=True))
    k8s_ca: KeyPair = field(default_factory=lambda: make_ca("kubernetes"))
    etcd_ca: KeyPair = field(default_factory=lambda: make_ca("etcd"))
    aggregator_ca: KeyPair = field(default_factory=lambda: make_ca("aggregator"))
    id: str = field(default_factory=lambda: _b64(secrets.token_bytes(32)))
    token: str = "abcdef.0123456789abcdef"

    def client(self, *roles: str, **overrides: Any) -> KeyPair:
        subject = Subject(organizations=roles or ("os:admin",), client=True, **overrides)
        return Authority(self.os_ca).issue(subject)

    def documents(self, kind: str, hostname: str, **machine: Any) -> list[dict[str, Any]]:
        plane = kind == "controlplane"
        v1alpha1: dict[str, Any] = {
            "version": "v1alpha1",
            "debug": False,
            "persist": True,
            "machine": {
                "type": kind,
                "token": self.token,
                "ca": _pair(self.os_ca, key=plane),
                "certSANs": [],
                "kubelet": {"image": "ghcr.io/siderolabs/kubelet:v1.36.3"},
                "install": {"disk": "/dev/sda", "image": "ghcr.io/siderolabs/installer:v1.13.9"},
                **machine,
            },
            "cluster": {
                "id": self.id,
                "secret": _b64(b"s" * 32),
                "controlPlane": {"endpoint": self.endpoint},
                "clusterName": self.name,
                "network": {"podSubnets": ["10.244.0.0/16"], "serviceSubnets": ["10.96.0.0/12"]},
                "token": self.token,
                "ca": _pair(self.k8s_ca, key=plane),
                "discovery": {"enabled": True},
            },
        }
        if plane:
            v1alpha1["cluster"] |= {
                "secretboxEncryptionSecret": _b64(b"k" * 32),
                "aggregatorCA": _pair(self.aggregator_ca),
                "serviceAccount": {"key": _b64(_service_account_key())},
                "etcd": {"ca": _pair(self.etcd_ca)},
                "apiServer": {"image": "registry.k8s.io/kube-apiserver:v1.36.3"},
            }
        name = {"apiVersion": "v1alpha1", "kind": "HostnameConfig", "hostname": hostname}
        return [v1alpha1, {**name, "auto": "off"}]

    def config(self, kind: str, hostname: str, *more: dict[str, Any], **machine: Any) -> bytes:
        return to_yaml([*self.documents(kind, hostname, **machine), *more])


def to_yaml(documents: list[dict[str, Any]]) -> bytes:
    stream = io.BytesIO()
    YAML(typ="safe").dump_all(documents, stream)
    return stream.getvalue()
