"""Certificates: made by the server itself, given as files, and demanded of clients."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.statestore.helpers import state_body
from tests.statestore.running import running

from talops.files import PRIVATE, write_atomic
from talops.redaction import Secret
from talops.statestore import tls
from talops.statestore.stores import StoreAddress

if TYPE_CHECKING:
    from pathlib import Path


def client_certificate(directory: Path) -> tls.TlsFiles:
    """A certificate that is its own authority, for a client."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a client")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = tls.TlsFiles(directory / "client.pem", directory / "client.key")
    write_atomic(files.certificate, certificate.public_bytes(serialization.Encoding.PEM))
    write_atomic(files.key, tls._pem(key), mode=PRIVATE)
    return files


def test_a_certificate_is_made_once(tmp_path: Path) -> None:
    """The same directory gives the same certificate, until it lacks a name that is asked for."""
    first = tls.self_made(tmp_path, ["127.0.0.1"])
    before = first.certificate.read_bytes()
    assert tls.self_made(tmp_path, ["127.0.0.1"]).certificate.read_bytes() == before
    assert first.key.stat().st_mode & 0o777 == 0o600
    assert tls.self_made(tmp_path, ["states.example"]).certificate.read_bytes() != before


def test_a_damaged_certificate_is_replaced(tmp_path: Path) -> None:
    """A file that is not a certificate does not stop the server."""
    files = tls.self_made(tmp_path, [])
    files.certificate.write_text("torn")
    assert tls.fingerprint(tls.self_made(tmp_path, []).certificate)


def test_clients_that_trust_the_certificate_get_in(tmp_path: Path) -> None:
    """The one file that the server made is enough to trust it; other clients do not."""
    store = StoreAddress(Secret(f"sqlite:{tmp_path / 'states'}"))
    with running(store, "--tls-self-made", str(tmp_path / "tls")) as server:
        assert server.address.startswith("https://")
        trust = ssl.create_default_context(cafile=tmp_path / "tls" / "certificate.pem")
        with httpx.Client(verify=trust) as client:
            done = client.post(f"{server.address}/a/b", content=state_body(1))
            assert done.status_code == 200
        with pytest.raises(httpx.ConnectError, match="certificate"):
            httpx.get(f"{server.address}/a/b")


def test_clients_without_a_certificate_stay_out(tmp_path: Path) -> None:
    """With --client-ca only clients with a certificate of that authority are heard."""
    theirs = client_certificate(tmp_path / "client")
    store = StoreAddress(Secret(f"sqlite:{tmp_path / 'states'}"))
    own = ("--tls-self-made", str(tmp_path / "tls"), "--client-ca", str(theirs.certificate))
    with running(store, *own) as server:
        trust = ssl.create_default_context(cafile=tmp_path / "tls" / "certificate.pem")
        with pytest.raises(httpx.TransportError), httpx.Client(verify=trust) as client:
            client.get(f"{server.address}/healthz")
        trust.load_cert_chain(theirs.certificate, theirs.key)
        with httpx.Client(verify=trust) as client:
            assert client.get(f"{server.address}/healthz").status_code == 200
