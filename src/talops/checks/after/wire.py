"""Read the certificate that a port presents to any client, and send nothing to it."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

from cryptography import x509

from talops.errors import UnreachableError

if TYPE_CHECKING:
    from datetime import datetime

SECONDS = 10.0
APID, KUBERNETES, ETCD = 50000, 6443, 2379


async def expiry(host: str, port: int) -> datetime:
    """When the certificate ends that this port presents."""
    shown = await certificate(host, port)
    try:
        return x509.load_der_x509_certificate(shown).not_valid_after_utc
    except (ValueError, x509.InvalidVersion):  # OpenSSL accepts more than this
        raise UnreachableError(
            "the server shows a damaged certificate", where=f"{host}:{port}"
        ) from None


async def certificate(host: str, port: int) -> bytes:
    """As DER. Not verified: the caller reads what is served and does not trust it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(SECONDS):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except (OSError, TimeoutError) as error:
        reason = str(error) or "no answer"
        raise UnreachableError(f"no certificate: {reason}", where=f"{host}:{port}") from error
    shown: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.transport.abort()
    return shown
