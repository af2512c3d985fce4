"""What a failed or lost connection means: which side refused the other, and why."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from typing import TYPE_CHECKING

from talops.talos.credentials import Maintenance, is_maintenance_certificate, is_signed_by
from talops.talos.errors import (
    ClockError,
    ForeignCertificateError,
    MaintenanceModeError,
    NodeDownError,
    PreconditionError,
    WrongCaError,
)

if TYPE_CHECKING:
    from talops.errors import TalopsError

PROBE_TIMEOUT = 3.0

# A node that takes its first config swaps its certificate within a tenth of a second and keeps its
# port open: the failed handshake and the second look may see different certificates. So a node
# belongs to another cluster only if a certificate was seen that is neither ours nor that of
# maintenance mode. Anything else means "not yet".

# OpenSSL's X509_V_ERR_* numbers; everything else means "not signed by the CA we trust".
_NOT_YET_VALID, _EXPIRED = 9, 10
_WRONG_NAME = {62, 64}
_SELF_SIGNED = 18


def handshake_error(
    error: ssl.SSLError, where: str, shown: bytes | None, trusted: str = ""
) -> TalopsError:
    """The node's certificate, or what it sent instead of one, was not acceptable to us.

    `shown` is what a second connection saw, and `trusted` the CAs (PEM) that we accept.
    """
    if (shown is not None and is_maintenance_certificate(shown)) or _self_signed(error):
        return MaintenanceModeError(
            "the node is in maintenance mode: it has no machine config yet",
            where=where,
            hint="apply its machine config, or connect with --insecure",
        )
    if isinstance(error, ssl.SSLCertVerificationError):
        return _verification_error(error, where, shown, trusted)
    if (error.reason or "") in {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"}:
        return NodeDownError(
            "the server at this address does not use TLS",
            where=where,
            hint="check address and port; the Talos API is on 50000",
        )
    return NodeDownError(f"TLS handshake failed: {error.reason or error}", where=where)


def _self_signed(error: ssl.SSLError) -> bool:
    """Only nodes in maintenance mode show such a certificate: no CA has signed it yet.

    The certificate itself may be unavailable: the node may be leaving that mode right now.
    """
    return isinstance(error, ssl.SSLCertVerificationError) and error.verify_code == _SELF_SIGNED


def _verification_error(
    error: ssl.SSLCertVerificationError, where: str, shown: bytes | None, trusted: str
) -> TalopsError:
    if error.verify_code in {_EXPIRED, _NOT_YET_VALID}:
        return ClockError(
            f"the node's certificate is not valid now: {error.verify_message}",
            where=where,
            hint="compare the clocks of node, hypervisor (talops preflight) and this machine",
        )
    if error.verify_code in _WRONG_NAME:
        return WrongCaError(
            "the node's certificate is not for this address",
            where=where,
            hint="use an address of the node itself, or add this one to certSANs",
        )
    if shown is None or is_signed_by(shown, trusted):
        gone = "it was not accepted, and could not be read a second time"
        return PreconditionError(
            f"the node is changing its certificate{f': {gone}' if shown is None else ''}",
            where=where,
            hint="wait a moment and try again",
        )
    return WrongCaError(
        f"the node's certificate is not signed by the talosconfig's CA ({error.verify_message})",
        where=where,
        hint="use the talosconfig of the cluster that this node belongs to",
    )


def lost(where: str) -> TalopsError:
    return NodeDownError(
        "the connection was lost", where=where, hint="the node may be rebooting; try again"
    )


async def closes_at_once(host: str, port: int, context: ssl.SSLContext) -> bool:
    """Whether a server completes the handshake and then closes the connection.

    HTTP/2 servers send first, so a close without data means that the server rejected us.
    """
    try:
        async with asyncio.timeout(PROBE_TIMEOUT):
            reader, writer = await asyncio.open_connection(host, port, ssl=context)
    except (OSError, TimeoutError):
        return False
    try:
        async with asyncio.timeout(PROBE_TIMEOUT):
            return await reader.read(1) == b""
    except TimeoutError:
        return False
    except OSError:  # reset, or an alert
        return True
    finally:
        writer.transport.abort()


def unreachable(error: OSError, where: str) -> TalopsError:
    # asyncio writes its own text into strerror; users know the text of the number.
    reason = error.strerror or str(error)
    if error.errno is not None and not isinstance(error, socket.gaierror):
        reason = os.strerror(error.errno)
    return NodeDownError(
        f"cannot connect: {reason}",
        where=where,
        hint="check that the node is up and that port 50000 is reachable",
    )


async def shown_certificate(host: str, port: int, timeout: float) -> bytes | None:  # noqa: ASYNC109
    """The certificate a server shows, trusted or not, to report why it is not."""
    async with asyncio.timeout(timeout):
        _, writer = await asyncio.open_connection(host, port, ssl=Maintenance().context)
    certificate: bytes | None = writer.get_extra_info("ssl_object").getpeercert(True)
    writer.transport.abort()
    return certificate


def is_refusal(error: BaseException | None) -> bool:
    return isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or "")


def refused(error: BaseException | None, where: str, *, expired: bool = False) -> TalopsError:
    if expired:
        return ForeignCertificateError(
            "the talosconfig's client certificate has expired",
            where=where,
            hint="fetch a new talosconfig, or create one from the cluster's secrets",
        )
    reason = getattr(error, "reason", None) or "ALERT_no reason given"
    alert = reason.split("ALERT_")[-1].replace("_", " ").lower()
    return ForeignCertificateError(
        f"the node does not accept our client certificate ({alert})",
        where=where,
        hint="use the talosconfig of the cluster that this node belongs to",
    )
