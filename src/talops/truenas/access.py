"""Where a TrueNAS is, who asks, and which certificates are believed."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import NotReadyError, TalopsError, UnreachableError

if TYPE_CHECKING:
    from talops.redaction import Secret

SECONDS = 30.0
# TrueNAS lets an address log in twenty times a minute; the minute after that is waited for.
PATIENCE = 90.0


@dataclass(frozen=True)
class Access:
    """With a `username` the server says whether a key is wrong or expired; without, only no."""

    url: str
    key: Secret
    username: str | None = None
    insecure: bool = False
    ca_file: str | None = None
    seconds: float = SECONDS
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        # TrueNAS revokes a key that it has seen without TLS: one slip would cost the key.
        if not self.url.startswith("https://"):
            raise TalopsError(
                "a TrueNAS is reached with https only",
                where=self.url,
                hint="write truenas.url with https:// in cluster.yaml",
            )

    @property
    def base(self) -> str:
        return self.url.rstrip("/")

    @property
    def socket(self) -> str:
        return f"wss://{self.base.removeprefix('https://')}/api/current"

    def trust(self) -> ssl.SSLContext:
        if self.insecure:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return context
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise TalopsError(
                f"cannot read the CA: {error}",
                where=self.ca_file,
                hint="correct truenas.ca_file in cluster.yaml",
            ) from error


def silent(error: Exception, where: str) -> UnreachableError:
    """No answer, in words that tell a certificate from a network."""
    text = str(error) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in text:
        reason = text.partition("verify failed: ")[2].partition(" (_ssl")[0] or text
        return UnreachableError(
            f"TrueNAS' certificate is not trusted: {reason}",
            where=where,
            hint="name the CA that signed it as truenas.ca_file in cluster.yaml",
        )
    if isinstance(error, TimeoutError):
        text = "it did not answer in time"
    return UnreachableError(
        f"TrueNAS does not answer: {text}",
        where=where,
        hint="check truenas.url, the network and that its web service runs, then run this again",
    )


def starting(status: int, where: str) -> NotReadyError:
    return NotReadyError(
        f"TrueNAS is not ready: HTTP {status}",
        where=where,
        hint="it may still be starting; try again in a minute",
    )
