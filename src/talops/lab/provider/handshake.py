"""The first words between OpenTofu and a plugin: two certificates and one line on stdout."""

from __future__ import annotations

import base64
import datetime as dt
import os
import ssl
import tempfile
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

CLIENT_CERTIFICATE = "PLUGIN_CLIENT_CERT"
_LIFE = dt.timedelta(days=365)
_SKEW = dt.timedelta(minutes=5)


@dataclass(frozen=True)
class Identity:
    certificate: bytes  # DER
    context: ssl.SSLContext


def line(socket_path: str, identity: Identity | None) -> str:
    """Protocol of the handshake, of the provider, then where and as whom it listens."""
    own = base64.b64encode(identity.certificate).decode().rstrip("=") if identity else ""
    return f"1|6|unix|{socket_path}|grpc|{own}"


def mutual_tls(client_pem: str) -> Identity:
    """A fresh certificate of our own, and trust in that one client certificate only."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _self_signed(key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=client_pem)
    _load(context, key, certificate)
    return Identity(certificate.public_bytes(serialization.Encoding.DER), context)


def _self_signed(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )


def _load(
    context: ssl.SSLContext, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate
) -> None:
    """OpenSSL wants a file; this one is private and lives for as long as it is read."""
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ) + certificate.public_bytes(serialization.Encoding.PEM)
    with tempfile.NamedTemporaryFile() as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(pem)
        file.flush()
        context.load_cert_chain(file.name)
