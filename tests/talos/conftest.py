"""A small Talos node to talk to: own PKI, a gRPC server on loopback, answers set by the test."""

from __future__ import annotations

import base64
import ipaddress
import socket
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from grpclib.server import Server

from talops.redaction import Secret
from talops.talos.client import Talos
from talops.talos.credentials import Credentials, Maintenance
from talops.talos.wire import common_pb2
from talops.talos.wire.cluster_grpc import ClusterServiceBase
from talops.talos.wire.cosi_grpc import StateBase
from talops.talos.wire.image_grpc import ImageServiceBase
from talops.talos.wire.lifecycle_grpc import LifecycleServiceBase
from talops.talos.wire.machine_grpc import MachineServiceBase
from talops.talos.wire.serving import partial
from talops.talos.wire.storage_grpc import StorageServiceBase
from talops.talos.wire.time_grpc import TimeServiceBase

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

SERVICES = (
    MachineServiceBase,
    LifecycleServiceBase,
    ImageServiceBase,
    StorageServiceBase,
    ClusterServiceBase,
    TimeServiceBase,
    StateBase,
)


@dataclass(frozen=True)
class Pair:
    certificate: str
    key: str


def _pem(key: Ed25519PrivateKey, header: str = "PRIVATE KEY") -> str:
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return pem.replace("PRIVATE KEY", header)


class Authority:
    """An Ed25519 CA as Talos makes it: O=talos, no common name."""

    def __init__(self) -> None:
        self._key = Ed25519PrivateKey.generate()
        self._name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "talos")])
        public = self._key.public_key()
        self._ski = x509.SubjectKeyIdentifier.from_public_key(public)
        builder = self._builder(self._name, public, timedelta(days=3650))
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        self.certificate = self._sign(builder.add_extension(self._ski, False))

    def client(self, role: str = "os:admin", *, days: float = 1) -> Pair:
        name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, role)])
        return self._issue(name, ExtendedKeyUsageOID.CLIENT_AUTH, [], days, "ED25519 PRIVATE KEY")

    def server(self, name: str = "cp1", *, sans: tuple[str, ...] = ("127.0.0.1",)) -> Pair:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        addresses = [x509.IPAddress(ipaddress.ip_address(san)) for san in sans]
        return self._issue(subject, ExtendedKeyUsageOID.SERVER_AUTH, addresses, 1, "PRIVATE KEY")

    def credentials(self, pair: Pair | None = None) -> Credentials:
        pair = pair or self.client()
        return Credentials(self.certificate, pair.certificate, Secret(pair.key))

    def _issue(
        self, name: x509.Name, usage: x509.ObjectIdentifier, sans: Any, days: float, header: str
    ) -> Pair:
        key = Ed25519PrivateKey.generate()
        builder = self._builder(name, key.public_key(), timedelta(days=days))
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), False)
        aki = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._ski)
        builder = builder.add_extension(aki, False)
        if sans:
            builder = builder.add_extension(x509.SubjectAlternativeName(sans), False)
        return Pair(self._sign(builder), _pem(key, header))

    def _builder(self, subject: x509.Name, public: Any, life: timedelta) -> Any:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + life)
        )

    def _sign(self, builder: Any) -> str:
        pem: bytes = builder.sign(self._key, None).public_bytes(Encoding.PEM)
        return pem.decode()


class FakeNode:
    """Answers calls with what a test put into `handlers`, and keeps what it was asked."""

    def __init__(self) -> None:
        self.handlers: dict[str, Any] = {}
        self.asked: list[tuple[str, Any, dict[str, list[str]]]] = []
        self.port = 0

    def on(self, method: str, answer: Any) -> None:
        """`answer` is a reply, a list of stream items, an exception, or a coroutine function."""
        self.handlers[method] = answer

    def requests(self, method: str) -> list[Any]:
        return [request for name, request, _ in self.asked if name == method]

    def services(self) -> list[Any]:
        return [self._service(base) for base in SERVICES]

    def _service(self, base: type) -> Any:
        methods = {n: self._method(base, n) for n in base.__abstractmethods__}  # type: ignore[attr-defined]  # ABCMeta gives it
        return type("Fake", (partial(base),), methods)()

    def _method(self, base: type, name: str) -> Any:
        async def serve(handler: Any, stream: Any) -> None:
            metadata = {key: stream.metadata.getall(key) for key in stream.metadata}
            if name == "EtcdRecover":
                request: Any = [item async for item in stream]
            else:
                request = await stream.recv_message()
            self.asked.append((name, request, metadata))
            if name not in self.handlers:
                await getattr(super(type(handler), handler), name)(stream)
            answer = self.handlers[name]
            if callable(answer):
                answer = await answer(request, stream)
            if isinstance(answer, Exception):
                raise answer
            for item in answer if isinstance(answer, list) else [answer]:
                if item is not None:
                    await stream.send_message(item)

        return serve


def server_context(pair: Pair, client_ca: str | None, folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["h2"])
    chain = folder / "server.pem"
    chain.write_text(pair.certificate + pair.key)
    context.load_cert_chain(chain)
    if client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=client_ca)
    return context


@asynccontextmanager
async def serving(node: FakeNode, context: ssl.SSLContext) -> AsyncIterator[FakeNode]:
    server = Server(node.services())
    # Named TCP outright: asyncio switches off Nagle's delay only for sockets that say so.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        node.port = listener.getsockname()[1]
        await server.start(sock=listener.dup(), ssl=context)
    try:
        yield node
    finally:
        server.close()
        await server.wait_closed()


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority()


@pytest.fixture
async def node(authority: Authority, tmp_path: Path) -> AsyncIterator[FakeNode]:
    """A running node of the cluster that `authority` signs for."""
    context = server_context(authority.server(), authority.certificate, tmp_path)
    async with serving(FakeNode(), context) as running:
        yield running


@pytest.fixture
async def talos(node: FakeNode, authority: Authority) -> AsyncIterator[Talos]:
    """A client of `node` with the right certificate."""
    async with Talos.connect("127.0.0.1", authority.credentials(), port=node.port) as client:
        yield client


@pytest.fixture
async def maintenance(tmp_path: Path) -> AsyncIterator[FakeNode]:
    """A node without a config: a certificate of its own making, and any client is welcome."""
    pair = Authority().server("maintenance-service.talos.dev")
    async with serving(FakeNode(), server_context(pair, None, tmp_path)) as running:
        yield running


@pytest.fixture
def insecure() -> Maintenance:
    return Maintenance()


def encoded(pem: str) -> str:
    return base64.b64encode(pem.encode()).decode()


def meta(hostname: str = "cp1") -> common_pb2.Metadata:
    return common_pb2.Metadata(hostname=hostname)


def data(*parts: bytes) -> list[common_pb2.Data]:
    return [common_pb2.Data(bytes=part) for part in parts]
