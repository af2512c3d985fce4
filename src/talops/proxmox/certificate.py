"""The certificate that a Proxmox shows: issuer, names, validity, and whether it is trusted."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.x509.oid import ExtensionOID

from talops.errors import TalopsError, UnreachableError

if TYPE_CHECKING:
    from datetime import datetime

    from talops.proxmox.client import Access

SECONDS = 10.0
PORT = 443  # of an address that names none; Proxmox itself listens on 8006


@dataclass(frozen=True)
class Certificate:
    subject: str
    issuer: str
    names: tuple[str, ...]
    expires: datetime
    # OpenSSL's reason; None: the chain and the name are valid.
    problem: str | None


async def look(access: Access) -> Certificate:
    """Opens two connections: one to read the certificate, one to check that it is trusted."""
    host, port = _place(access.endpoint)
    shown = await _shown(host, port)
    problem = await _problem(host, port, access.ca_file)
    try:
        return _read(shown, problem)
    except (ValueError, x509.InvalidVersion, x509.DuplicateExtension) as error:
        raise TalopsError(
            "the server shows a damaged certificate",
            where=f"{host}:{port}",
            hint="check which machine has this address; on Proxmox: pvecm updatecerts --force",
        ) from error


def _read(shown: bytes, problem: str | None) -> Certificate:
    certificate = x509.load_der_x509_certificate(shown)
    return Certificate(
        subject=certificate.subject.rfc4514_string(),
        issuer=certificate.issuer.rfc4514_string(),
        names=_names(certificate),
        expires=certificate.not_valid_after_utc,
        problem=problem,
    )


def _place(endpoint: str) -> tuple[str, int]:
    parts = urlsplit(endpoint)
    return parts.hostname or "", parts.port or PORT


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        found = certificate.extensions.get_extension_for_oid(
            ExtensionOID.SUBJECT_ALTERNATIVE_NAME
        ).value
    except x509.ExtensionNotFound:
        return ()
    assert isinstance(found, x509.SubjectAlternativeName)
    return tuple(str(name.value) for name in found)


async def _shown(host: str, port: int) -> bytes:
    anything = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # no CAs: accepts any certificate
    anything.check_hostname = False
    anything.verify_mode = ssl.CERT_NONE
    shown = await _connect(host, port, anything)
    if not shown:
        raise TalopsError("the server shows no certificate", where=f"{host}:{port}")
    return shown


async def _problem(host: str, port: int, ca_file: str | None) -> str | None:
    try:
        await _connect(host, port, ssl.create_default_context(cafile=ca_file))
    except ssl.SSLCertVerificationError as error:
        return error.verify_message
    return None


async def _connect(host: str, port: int, context: ssl.SSLContext) -> bytes | None:
    try:
        async with asyncio.timeout(SECONDS):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except ssl.SSLCertVerificationError:
        raise
    except (OSError, ssl.SSLError, TimeoutError) as error:
        raise UnreachableError(
            f"Proxmox does not answer: {error or type(error).__name__}",
            where=f"{host}:{port}",
            hint="check proxmox_api_url, the network and that pveproxy runs on the host",
        ) from error
    try:
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        # Do not wait for a TLS shutdown: no data was sent on this connection.
        writer.transport.abort()
    return bytes(shown) if shown else None
