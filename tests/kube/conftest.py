"""A real kube-apiserver with etcd, on a loopback address of its own."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import os
import subprocess
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from talops.kube.client import KubeClient
from talops.kube.kubeconfig import Kubeconfig, parse
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KEEP = serialization.NoEncryption()
FORM = serialization.PrivateFormat.TraditionalOpenSSL


class Authority:
    """A certificate authority that signs what a small control plane needs."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
        constraint = x509.BasicConstraints(ca=True, path_length=None)
        builder = self.builder(self.name, self.key).add_extension(constraint, critical=True)
        self.certificate = builder.sign(self.key, hashes.SHA256())

    def builder(self, name: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(days=1))
        )

    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def sign(self, name: str, organisation: str, address: str) -> tuple[str, str]:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [
                x509.NameAttribute(NameOID.COMMON_NAME, name),
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation),
            ]
        )
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        built = self.builder(subject, key).add_extension(names, critical=False)
        certificate = built.sign(self.key, hashes.SHA256())
        return certificate.public_bytes(serialization.Encoding.PEM).decode(), key_pem(key)


def key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(serialization.Encoding.PEM, FORM, KEEP).decode()


@contextmanager
def running(log: Path, *words: object) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("w") as out:
        process = subprocess.Popen([str(word) for word in words], stdout=out, stderr=out)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def own_address() -> str:
    """Processes on one machine have different ids, so their servers can share the usual ports."""
    number = os.getpid()
    return f"127.77.{number >> 8 & 255}.{(number & 255) or 1}"


def kubeconfig_text(address: str, authority: Authority) -> str:
    certificate, key = authority.sign("admin", "system:masters", address)
    ca, cert, secret = (
        base64.b64encode(text.encode()).decode() for text in (authority.pem(), certificate, key)
    )
    return (
        "current-context: admin\n"
        "contexts: [{name: admin, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: "
        f"{{server: 'https://{address}:6443', certificate-authority-data: {ca}}}}}]\n"
        "users: [{name: u, user: "
        f"{{client-certificate-data: {cert}, client-key-data: {secret}}}}}]\n"
    )


@pytest.fixture(scope="module")
def kubeconfig(
    tool: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubeconfig]:
    """The admin's kubeconfig of a fresh control plane."""
    folder, address, authority = tmp_path_factory.mktemp("plane"), own_address(), Authority()
    certificate, key = authority.sign("kube-apiserver", "kube-master", address)
    files = {"ca.crt": authority.pem(), "tls.crt": certificate, "tls.key": key}
    files["sa.key"] = key_pem(ec.generate_private_key(ec.SECP256R1()))
    for name, text in files.items():
        (folder / name).write_text(text)
    config = parse(kubeconfig_text(address, authority))
    with ExitStack() as stack:
        etcd = f"http://{address}:2379"
        stack.enter_context(running(folder / "etcd.log", *etcd_words(tool, folder, address)))
        words = apiserver_words(tool, folder, address, etcd)
        server = stack.enter_context(running(folder / "apiserver.log", *words))
        asyncio.run(wait_until_ready(config, server, folder / "apiserver.log"))
        yield config


def etcd_words(tool: Callable[[str], Path], folder: Path, address: str) -> list[object]:
    clients, peers = f"http://{address}:2379", f"http://{address}:2380"
    return [
        tool("etcd"),
        "--data-dir",
        folder / "etcd",
        "--unsafe-no-fsync",
        *("--listen-client-urls", clients, "--advertise-client-urls", clients),
        *("--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers),
        *("--initial-cluster", f"default={peers}"),
    ]


def apiserver_words(
    tool: Callable[[str], Path], folder: Path, address: str, etcd: str
) -> list[object]:
    return [
        tool("kube-apiserver"),
        f"--etcd-servers={etcd}",
        f"--bind-address={address}",
        f"--advertise-address={address}",
        "--secure-port=6443",
        f"--tls-cert-file={folder}/tls.crt",
        f"--tls-private-key-file={folder}/tls.key",
        f"--client-ca-file={folder}/ca.crt",
        f"--service-account-key-file={folder}/sa.key",
        f"--service-account-signing-key-file={folder}/sa.key",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.96.0.0/24",
        "--endpoint-reconciler-type=none",
        "--disable-admission-plugins=ServiceAccount",
    ]


async def wait_until_ready(config: Kubeconfig, server: subprocess.Popen[bytes], log: Path) -> None:
    async with KubeClient(config) as client:

        async def probe() -> Ready[None] | NotYet:
            assert server.poll() is None, f"it ended; see {log}"
            failing = await client.failing_checks()
            return NotYet(", ".join(failing)) if failing else Ready(None)

        await wait_for("the API server", probe, timeout=120, interval=0.1)
