"""SIGHUP: read users and certificates again without closing a connection."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.statestore.access.private import require_private

if TYPE_CHECKING:
    from collections.abc import Callable

    import uvicorn

    from talops.statestore.guard import Guard, OpenGuard
    from talops.statestore.tls import TlsFiles


class Reloading:
    def __init__(
        self,
        guard: Guard | OpenGuard,
        tls: TlsFiles | None,
        config: uvicorn.Config,
        say: Callable[[str], None],
    ) -> None:
        self._guard = guard
        self._tls = tls
        self._config = config
        self._say = say

    def reload(self) -> None:
        self._guard.reload()
        try:
            self._reload_certificate()
        except (OSError, ssl.SSLError, TalopsError) as error:
            self._say(f"cannot reload the certificate: {error}; the previous one stays in use")
            return
        self._say("users and certificate were read again")

    def _reload_certificate(self) -> None:
        """New connections get the new certificate; another --client-ca needs a restart."""
        tls, context = self._tls, self._config.ssl
        if tls is None or context is None:
            return
        require_private(tls.key, "the private key")
        # A pair that does not fit must not replace a part of the old one.
        trial = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trial.load_cert_chain(tls.certificate, tls.key)
        context.load_cert_chain(tls.certificate, tls.key)
