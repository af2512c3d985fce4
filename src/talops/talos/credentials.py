"""TLS credentials for nodes: mutual TLS, or none in maintenance mode."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import ssl
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID

from talops.talos.errors import TalosconfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from talops.redaction import Secret

# Errors that a certificate causes although OpenSSL has accepted it.
UNREADABLE = (ValueError, x509.InvalidVersion, UnsupportedAlgorithm)
# The name in the certificate of a node that waits for its first machine config.
MAINTENANCE_NAME = "maintenance-service.talos.dev"


@dataclass(frozen=True, eq=False)
class Credentials:
    """PEM texts of a talosconfig context; the TLS context is created once for all nodes."""

    ca: str
    certificate: str
    key: Secret

    @cached_property
    def context(self) -> ssl.SSLContext:
        context = _client_context()
        try:
            context.load_verify_locations(cadata=self.ca)
            with _as_file(self.certificate + "\n" + _readable_key(self.key)) as chain:
                context.load_cert_chain(chain)
        except (ssl.SSLError, ValueError):
            # OpenSSL's reason says which call failed, never what is wrong with the file.
            raise TalosconfigError(
                "the CA, certificate or key cannot be used, or key and certificate do not match",
                where="talosconfig",
                hint="fetch it again, or create a new one with `talops talos client-config`",
            ) from None
        return context

    @cached_property
    def _leaf(self) -> x509.Certificate:
        try:
            return x509.load_pem_x509_certificate(self.certificate.encode())
        except ValueError as error:
            raise TalosconfigError("crt is not a certificate", where="talosconfig") from error

    @property
    def expires(self) -> datetime:
        return self._leaf.not_valid_after_utc

    @property
    def roles(self) -> tuple[str, ...]:
        """What the certificate's organizations allow, such as os:admin."""
        names = self._leaf.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
        return tuple(str(name.value) for name in names)


@dataclass(frozen=True, eq=False)
class Maintenance:
    """A node without a config: any certificate is taken, unless its key is pinned.

    A fingerprint is what the node's console shows and `talosctl --cert-fingerprint` takes: the
    base64 of the SHA-256 of the public key (SubjectPublicKeyInfo).
    """

    fingerprints: tuple[str, ...] = ()

    @cached_property
    def context(self) -> ssl.SSLContext:
        context = _client_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # the pin is checked after the handshake
        return context


def spki_fingerprint(certificate_der: bytes) -> str:
    """Raises one of `UNREADABLE` for a certificate that only OpenSSL accepts."""
    key = x509.load_der_x509_certificate(certificate_der).public_key()
    spki = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(spki).digest()).decode()


def is_maintenance_certificate(certificate_der: bytes) -> bool:
    try:
        certificate = x509.load_der_x509_certificate(certificate_der)
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        own = certificate.subject == certificate.issuer
    except UNREADABLE:
        return False
    return own or any(name.value == MAINTENANCE_NAME for name in names)


def is_signed_by(certificate_der: bytes, authorities: str) -> bool:
    """Whether one of these CAs (PEM) signed the certificate."""
    try:
        certificate = x509.load_der_x509_certificate(certificate_der)
    except UNREADABLE:
        return False
    for authority in x509.load_pem_x509_certificates(authorities.encode()) if authorities else ():
        with contextlib.suppress(ValueError, TypeError, InvalidSignature):
            certificate.verify_directly_issued_by(authority)
            return True
    return False


def _client_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])
    return context


def _readable_key(key: Secret) -> str:
    # Talos writes this header over plain PKCS8; OpenSSL knows it only by its ordinary name.
    return key.reveal().replace("ED25519 PRIVATE KEY", "PRIVATE KEY")


@contextlib.contextmanager
def _as_file(text: str) -> Iterator[str]:
    """A path that OpenSSL can read `text` from while the block runs; in memory where possible."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("talops")
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            yield f"/proc/self/fd/{handle}"
        return
    with tempfile.TemporaryDirectory() as folder:  # mode 0700
        path = Path(folder) / "chain.pem"
        path.write_text(text, encoding="ascii")
        yield str(path)
