"""The handshake, and that nobody but the OpenTofu that started it can talk to the plugin."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import os
import ssl
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from grpclib.client import Channel, UnaryUnaryMethod
from grpclib.config import Configuration
from grpclib.exceptions import StreamTerminatedError

from talops.lab.provider.__main__ import COOKIE, VALUE
from talops.lab.provider.server import Codec
from talops.lab.provider.wire import messages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

LOCAL = Configuration(ssl_target_name_override="localhost")
COMMAND = [sys.executable, "-P", "-m", "talops.lab.provider"]


class Client:
    """A client certificate as OpenTofu makes one (P-521), in a file that OpenSSL can read."""

    def __init__(self, directory: Path) -> None:
        key = ec.generate_private_key(ec.SECP521R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        now = dt.datetime.now(dt.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(minutes=1))
            .not_valid_after(now + dt.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA512())
        )
        self.pem = certificate.public_bytes(serialization.Encoding.PEM).decode()
        self.file = directory / "client.pem"
        secret = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        self.file.write_bytes(secret + self.pem.encode())

    def context(self, server: bytes) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=ssl.DER_cert_to_PEM_cert(server))
        context.load_cert_chain(self.file)
        context.set_alpn_protocols(["h2"])
        return context


@asynccontextmanager
async def plugin(**environment: str) -> AsyncIterator[list[str]]:
    """A running plugin and the fields of its one line."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdout=subprocess.PIPE, env={**os.environ, COOKIE: VALUE, **environment}
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), 120)
        yield line.decode().rstrip("\n").split("|")
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def ask(channel: Channel, method: str, asks: Any, answers: Any) -> dict[str, Any]:
    call: Any = UnaryUnaryMethod(channel, method, asks, answers)
    reply: dict[str, Any] = await asyncio.wait_for(call({}), 120)
    return reply


async def metadata(channel: Channel) -> list[str]:
    reply = await ask(channel, "/tfplugin6.Provider/GetMetadata", messages.EMPTY, messages.METADATA)
    return [item["type_name"] for item in reply["resources"]]


def test_it_refuses_to_be_started_by_hand() -> None:
    """Without the cookie it says what it is, and ends."""
    environment = {k: v for k, v in os.environ.items() if k != COOKIE}
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "stand-in" in done.stderr


async def test_the_line_says_where_and_as_whom(tmp_path: Path) -> None:
    """Protocol 6 over gRPC on a Unix socket, with a certificate of its own."""
    client = Client(tmp_path)
    async with plugin(PLUGIN_CLIENT_CERT=client.pem) as fields:
        assert fields[:3] == ["1", "6", "unix"]
        assert fields[4] == "grpc"
        own = x509.load_der_x509_certificate(base64.b64decode(fields[5] + "=="))
        names = own.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == ["localhost"]


async def test_the_client_that_started_it_is_served(tmp_path: Path) -> None:
    """Mutual TLS, then an answer; Shutdown ends the process."""
    client = Client(tmp_path)
    async with plugin(PLUGIN_CLIENT_CERT=client.pem) as fields:
        server = base64.b64decode(fields[5] + "==")
        channel = Channel(path=fields[3], ssl=client.context(server), codec=Codec(), config=LOCAL)
        try:
            assert "proxmox_virtual_environment_vm" in await metadata(channel)
            shutdown = "/plugin.GRPCController/Shutdown"
            assert await ask(channel, shutdown, messages.EMPTY, messages.EMPTY) == {}
        finally:
            channel.close()


async def test_another_client_is_not(tmp_path: Path) -> None:
    """A certificate that is not the announced one gets no answer."""
    (tmp_path / "other").mkdir()
    client, other = Client(tmp_path), Client(tmp_path / "other")
    async with plugin(PLUGIN_CLIENT_CERT=client.pem) as fields:
        server = base64.b64decode(fields[5] + "==")
        channel = Channel(path=fields[3], ssl=other.context(server), codec=Codec(), config=LOCAL)
        try:
            with pytest.raises((StreamTerminatedError, ConnectionError, ssl.SSLError)):
                await metadata(channel)
        finally:
            channel.close()


async def test_without_certificates_it_speaks_plainly() -> None:
    """Old clients do without TLS: the last field is empty then."""
    async with plugin(PLUGIN_CLIENT_CERT="") as fields:
        assert fields[5] == ""
        channel = Channel(path=fields[3], codec=Codec())
        try:
            assert await metadata(channel)
        finally:
            channel.close()


async def test_a_deep_temporary_directory_does_not_matter(tmp_path: Path) -> None:
    """The path of a socket is short by nature."""
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    async with plugin(TMPDIR=str(deep), PLUGIN_CLIENT_CERT="") as fields:
        assert len(fields[3]) < 108
