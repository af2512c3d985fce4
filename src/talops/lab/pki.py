"""The lab's own certificate authority, and certificates for its servers."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from talops.files import PRIVATE, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

TEN_YEARS = timedelta(days=3650)
BACKDATE = timedelta(hours=1)  # clocks of containers and hosts differ a little


@dataclass(frozen=True)
class Authority:
    """A CA that lives in a directory as ca.crt and ca.key."""

    directory: Path

    @property
    def certificate(self) -> Path:
        return self.directory / "ca.crt"

    def server_context(self, name: str, addresses: list[str]) -> ssl.SSLContext:
        """TLS 1.3 only, as the Proxmox provider demands."""
        chain = self.issue(name, addresses)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(chain)
        return context

    def issue(self, name: str, addresses: list[str]) -> Path:
        """A PEM file with key and certificate for a server at these addresses."""
        path = self.directory / f"{name}.pem"
        if path.exists() and _addresses(path) >= set(addresses):
            return path
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _build(name, self._load(), key, addresses)
        write_atomic(path, _key_pem(key) + certificate.public_bytes(Encoding.PEM), mode=PRIVATE)
        return path

    def client_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))

    def ensure(self) -> None:
        if self.certificate.exists():
            return
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _build("talops lab CA", None, key, [])
        write_atomic(self.directory / "ca.key", _key_pem(key), mode=PRIVATE)
        write_atomic(self.certificate, certificate.public_bytes(Encoding.PEM))

    def _load(self) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
        key = load_pem_private_key((self.directory / "ca.key").read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        return x509.load_pem_x509_certificate(self.certificate.read_bytes()), key


Issuer = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]


def _build(
    name: str, issuer: Issuer | None, key: ec.EllipticCurvePrivateKey, addresses: list[str]
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    signer = issuer[1] if issuer else key
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(now + TEN_YEARS)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(_usage(authority=issuer is None), critical=True)
    )
    if issuer:
        builder = builder.add_extension(_names(name, addresses), critical=False)
        builder = builder.add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
    return builder.sign(signer, hashes.SHA256())


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _names(name: str, addresses: list[str]) -> x509.SubjectAlternativeName:
    ips = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    return x509.SubjectAlternativeName([x509.DNSName(name), x509.DNSName("localhost"), *ips])


def _addresses(path: Path) -> set[str]:
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(ip) for ip in names.get_values_for_type(x509.IPAddress)}


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
