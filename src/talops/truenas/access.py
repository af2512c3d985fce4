"""Address, credentials and trusted certificates of a TrueNAS."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import NotReadyError, TalopsError, UnreachableError

if TYPE_CHECKING:
    from talops.redaction import Secret

SECONDS = 30.0
# TrueNAS allows twenty logins per minute and address; talops waits for the next minute.
PATIENCE = 90.0


@dataclass(frozen=True)
class Access:
    """Only with a `username` does the server say whether a key is wrong or expired."""

    url: str
    key: Secret
    username: str | None = None
    insecure: bool = False
    ca_file: str | None = None
    seconds: float = SECONDS
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        # TrueNAS revokes a key that is sent without TLS.
        if not self.url.startswith("https://"):
            raise TalopsError(
                "TrueNAS requires https",
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
    """The error for a missing answer; distinguishes certificate errors from network errors."""
    text = str(error) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in text:
        reason = text.partition("verify failed: ")[2].partition(" (_ssl")[0] or text
        return UnreachableError(
            f"the certificate of TrueNAS is not trusted: {reason}",
            where=where,
            hint="set truenas.ca_file in cluster.yaml to the CA that signed it",
        )
    if isinstance(error, TimeoutError):
        text = "timed out"
    return UnreachableError(
        f"TrueNAS does not answer: {text}",
        where=where,
        hint="check truenas.url, the network and the web service, then run the same command again",
    )


def starting(status: int, where: str) -> NotReadyError:
    return NotReadyError(
        f"TrueNAS is not ready: HTTP {status}",
        where=where,
        hint="it may still be starting; retry in a minute",
    )
