"""Machines that answer at the address of a node: some are the node, some only say so.

Their answers have the shape that real Talos 1.13.9 gives in maintenance mode: `List` of
LinkStatuses as recorded (tests/recordings), and `Get` of SystemInformation, which containers, and
so the recording, do not have: its message is that of Talos' own library (tests/oracle).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from grpclib.server import Server
from tests.talos.conftest import Authority, FakeNode, Pair, _pem, server_context

from talops.talos.credentials import MAINTENANCE_NAME, spki_fingerprint
from talops.talos.wire import (
    cosi_pb2,
    machine_pb2,
    spec_hardware_pb2,
    spec_network_pb2,
    storage_pb2,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

PORT = 50000
MAC = "BC:24:11:00:00:01"
UUID = "5f0c1f5e-3b1c-4a43-9d0b-9d6c6b3a7e11"


def self_signed(name: str = "talos") -> Pair:
    """As Talos before 1.13 created it, and as any attacker can."""
    key = Ed25519PrivateKey.generate()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    life = (now - timedelta(days=1), now + timedelta(days=1))
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 1, *life)
    signed = builder.sign(key, None).public_bytes(Encoding.PEM).decode()
    return Pair(signed, _pem(key))


# Every certificate that an attacker without the cluster's CA can show.
CERTIFICATES: dict[str, Callable[[], Pair]] = {
    "self-signed": self_signed,
    "throw-away CA": lambda: Authority().server(MAINTENANCE_NAME),
}


@dataclass
class Answering:
    """A machine in maintenance mode: what it says of itself, and what it was sent."""

    uuid: str | None = UUID
    macs: tuple[str, ...] = (MAC,)
    pair: Pair = field(default_factory=CERTIFICATES["throw-away CA"])
    node: FakeNode = field(default_factory=FakeNode)

    def __post_init__(self) -> None:
        self.node.on("Get", self._get)
        self.node.on("List", self._list)
        self.node.on("Disks", storage_pb2.DisksResponse(messages=[storage_pb2.Disks()]))
        self.node.on(
            "ApplyConfiguration",
            machine_pb2.ApplyConfigurationResponse(messages=[machine_pb2.ApplyConfiguration()]),
        )

    @property
    def fingerprint(self) -> str:
        return spki_fingerprint(ssl.PEM_cert_to_DER_cert(self.pair.certificate))

    @property
    def received(self) -> int:
        """Bytes of machine config."""
        return sum(len(request.data) for request in self.node.requests("ApplyConfiguration"))

    async def _get(self, request: cosi_pb2.GetRequest, _: object) -> cosi_pb2.GetResponse:
        if request.type != "SystemInformations.hardware.talos.dev" or self.uuid is None:
            raise GRPCError(Status.NOT_FOUND, "resource doesn't exist")
        spec = spec_hardware_pb2.SystemInformationSpec(manufacturer="QEMU", uuid=self.uuid)
        return cosi_pb2.GetResponse(resource=_resource(request.type, request.id, spec))

    async def _list(self, request: cosi_pb2.ListRequest, _: object) -> list[cosi_pb2.ListResponse]:
        specs = [
            spec_network_pb2.LinkStatusSpec(
                hardware_addr=bytes.fromhex(mac.replace(":", "")),
                permanent_addr=bytes.fromhex(mac.replace(":", "")),
            )
            for mac in self.macs
        ]
        return [
            cosi_pb2.ListResponse(resource=_resource(request.type, f"eth{number}", spec))
            for number, spec in enumerate(specs)
        ]


def _resource(kind: str, name: str, spec: object) -> cosi_pb2.Resource:
    return cosi_pb2.Resource(
        metadata=cosi_pb2.Metadata(type=kind, id=name, phase="running"),
        spec=cosi_pb2.Spec(proto_spec=spec.SerializeToString()),  # type: ignore[attr-defined]
    )


@asynccontextmanager
async def standing_at(
    address: str, machine: Answering, folder: Path, *, client_ca: str | None = None
) -> AsyncIterator[Server]:
    """It listens on the port of Talos."""
    folder.mkdir()  # noqa: ASYNC240  (on a test's own disk)
    server = Server(machine.node.services())
    context = server_context(machine.pair, client_ca, folder)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, PORT))
        await server.start(sock=listener.dup(), ssl=context)
    try:
        yield server
    finally:
        server.close()
        await server.wait_closed()


class Switch:
    """One address, and whichever machine is behind it now: connections end when it changes."""

    def __init__(self, target: str) -> None:
        self.target = target
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def to(self, target: str) -> None:
        self.target = target
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()

    @asynccontextmanager
    async def at(self, address: str) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._serve, address, PORT)
        try:
            yield
        finally:
            self.to(self.target)
            server.close()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(self.target, PORT)
        self._open |= {writer, back}
        for source, drain in ((reader, back), (there, writer)):
            task = asyncio.create_task(_pass_on(source, drain))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


async def _pass_on(source: asyncio.StreamReader, drain: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65536):
            drain.write(data)
            await drain.drain()
    drain.transport.abort()
