"""Certificates that a node issues for itself, with the CAs of its machine config."""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
import os
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from talops.files import PRIVATE, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

SigningKey = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its key, both PEM."""

    crt: bytes
    key: bytes

    def write(self, directory: Path, name: str) -> tuple[Path, Path]:
        crt, key = directory / f"{name}.crt", directory / f"{name}.key"
        write_atomic(crt, self.crt)
        write_atomic(key, self.key, mode=PRIVATE)
        return crt, key


NO_PAIR = KeyPair(b"", b"")


@dataclass(frozen=True)
class Subject:
    """Subject and usages of a certificate."""

    common_name: str = ""
    organizations: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # addresses and DNS names
    server: bool = False
    client: bool = False
    lifetime: dt.timedelta = dt.timedelta(days=365)
    not_before: dt.datetime | None = None
    backdate: dt.timedelta = dt.timedelta(seconds=10)


def load_key(pem: bytes) -> SigningKey:
    """Talos uses its own PEM label for Ed25519 keys, although the content is ordinary PKCS8."""
    plain = pem.replace(b"ED25519 PRIVATE KEY", b"PRIVATE KEY")
    key = serialization.load_pem_private_key(plain, password=None)
    if not isinstance(key, ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey):
        raise TypeError(f"a CA key must be Ed25519 or ECDSA, not {type(key).__name__}")
    return key


class Authority:
    """A CA that can sign: new keys are of the same kind as its own."""

    def __init__(self, pair: KeyPair) -> None:
        self.pem = pair.crt
        self._certificate = x509.load_pem_x509_certificate(pair.crt)
        self._key = load_key(pair.key)

    def issue(self, subject: Subject) -> KeyPair:
        key: SigningKey
        if isinstance(self._key, ed25519.Ed25519PrivateKey):
            key = ed25519.Ed25519PrivateKey.generate()
        else:
            key = ec.generate_private_key(ec.SECP256R1())
        builder = _build(subject, self._certificate.subject).public_key(key.public_key())
        identifier = _subject_key_identifier(self._certificate)
        if identifier:
            builder = builder.add_extension(identifier, critical=False)
        return KeyPair(_sign(builder, self._key), _private_pem(key))


def throwaway_authority() -> KeyPair:
    """A CA without a name, valid for a day, for a node without a config."""
    key = ed25519.Ed25519PrivateKey.generate()
    start, unnamed = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=10), x509.Name([])
    builder = (
        x509.CertificateBuilder()
        .subject_name(unnamed)
        .issuer_name(unnamed)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=1))
        .add_extension(_key_usage(signs=True), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage(
                [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            ),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return KeyPair(_sign(builder, key), _private_pem(key))


def _name(subject: Subject) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, o) for o in subject.organizations]
    if subject.common_name:
        parts.append(x509.NameAttribute(NameOID.COMMON_NAME, subject.common_name))
    return x509.Name(parts)


def _build(subject: Subject, issuer: x509.Name) -> x509.CertificateBuilder:
    start = (subject.not_before or dt.datetime.now(dt.UTC)) - subject.backdate
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(issuer)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + subject.lifetime)
        .add_extension(_key_usage(), critical=True)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    )
    usages = [ExtendedKeyUsageOID.SERVER_AUTH] * subject.server
    usages += [ExtendedKeyUsageOID.CLIENT_AUTH] * subject.client
    if usages:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    if subject.names:
        names = [_general_name(name) for name in dict.fromkeys(subject.names)]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_usage(*, signs: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _subject_key_identifier(ca: x509.Certificate) -> x509.AuthorityKeyIdentifier | None:
    try:
        found = ca.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except x509.ExtensionNotFound:
        return None
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(found.value)


def _sign(builder: x509.CertificateBuilder, key: SigningKey) -> bytes:
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm).public_bytes(serialization.Encoding.PEM)


def _private_pem(key: SigningKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def talos_key_label(pem: bytes) -> bytes:
    """The PEM label that Talos writes for Ed25519 keys."""
    return pem.replace(b"PRIVATE KEY", b"ED25519 PRIVATE KEY")


def client_context(ca: bytes, pair: KeyPair) -> ssl.SSLContext:
    """TLS as a client with a certificate, trusting one authority only."""
    context = ssl.create_default_context(cadata=ca.decode())
    load_pair(context, pair)
    return context


def load_pair(context: ssl.SSLContext, pair: KeyPair) -> None:
    """`ssl` reads certificates only from files; these are in memory during one call."""
    handle = os.memfd_create("pair")
    try:
        os.write(handle, pair.crt + pair.key)
        context.load_cert_chain(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)


def from_base64(text: str) -> bytes:
    return base64.b64decode(text)
