"""Servers whose certificates OpenSSL accepts and no other parser does: an error, no traceback."""

from __future__ import annotations

import asyncio
import base64
import ssl
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from tests.talos.conftest import Authority, FakeNode, Pair, server_context, serving

from talops.app.access.certificates import _shown as listed
from talops.checks.after.certificates import _shown as checked
from talops.errors import TalopsError
from talops.proxmox import certificate as proxmox
from talops.proxmox.client import Access
from talops.talos.client import Talos
from talops.talos.credentials import UNREADABLE, Maintenance, is_maintenance_certificate
from talops.talos.errors import WrongCaError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

VERSION_3, VERSION_86 = b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x55"


def damaged(how: str) -> Pair:
    """Of a CA that the client does not know, then changed: its signature is wrong in any case."""
    pair = Authority().server("cp-1")
    der = x509.load_pem_x509_certificate(pair.certificate.encode()).public_bytes(Encoding.DER)
    if how == "version":
        der = der.replace(VERSION_3, VERSION_86, 1)
    else:  # the month of its first time becomes 99
        at = der.index(b"\x17\x0d") + 2
        der = der[: at + 2] + b"99" + der[at + 4 :]
    text = base64.encodebytes(der).decode()
    return Pair(f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n", pair.key)


@pytest.fixture(params=["version", "time"])
async def server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[FakeNode]:
    """Any TLS server, at the address of a node or of Proxmox."""
    context = server_context(damaged(request.param), None, tmp_path)
    async with serving(FakeNode(), context) as node:
        yield node


async def shown_by(port: int) -> bytes:
    anything = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anything.check_hostname, anything.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=anything)
    found: bytes = writer.get_extra_info("ssl_object").getpeercert(True)
    writer.transport.abort()
    return found


async def test_openssl_accepts_it(server: FakeNode) -> None:
    """Otherwise the tests below would prove nothing."""
    der = await shown_by(server.port)
    with pytest.raises(UNREADABLE):
        _ = x509.load_der_x509_certificate(der).not_valid_after_utc
    assert not is_maintenance_certificate(der)


@pytest.mark.parametrize("pins", [(), ("x",)], ids=["any", "pinned"])
async def test_at_the_address_of_a_node(server: FakeNode, pins: tuple[str, ...]) -> None:
    """In maintenance mode nothing is verified but the key, which cannot be read."""
    async with Talos.connect("127.0.0.1", Maintenance(pins), port=server.port) as talos:
        with pytest.raises(WrongCaError, match="damaged certificate"):
            await talos.version()
    assert server.requests("Version") == []


async def test_of_a_configured_node(server: FakeNode) -> None:
    """With the credentials of the cluster, it is not a node of this cluster."""
    access = Authority().credentials()
    async with Talos.connect("127.0.0.1", access, port=server.port) as talos:
        with pytest.raises(TalopsError):
            await talos.version()


async def test_checks_that_look_at_certificates(server: FakeNode) -> None:
    """`verify`, `certificates list` and `preflight` say what they could not read."""
    found: Any = await checked("apid of cp-1", "127.0.0.1", server.port)
    assert "damaged certificate" in str(found)
    credential = await listed("Talos API of cp-1", "127.0.0.1", server.port, "Talos", "itself")
    assert "damaged certificate" in credential.unread
    with pytest.raises(TalopsError, match="damaged certificate"):
        await proxmox.look(Access(f"https://127.0.0.1:{server.port}", None))
