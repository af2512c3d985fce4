"""What protects a page from other pages in the same browser.

The Host header stops DNS rebinding, `Sec-Fetch-Site` and `Origin` stop requests of other sites,
`frame-ancestors` stops clickjacking, and the policy allows no script but the files of this server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

from talops.app.logins import is_loopback

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "interest-cohort=()",
}
# A link in a mail or a bookmark is followed as a navigation; it only shows a page.
_OWN = frozenset({"same-origin", "none"})
_READING = frozenset({"GET", "HEAD"})


@dataclass(frozen=True)
class Names:
    """The names under which this server is reached; on loopback also every loopback name."""

    names: frozenset[str]
    loopback: bool

    def has(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self.names or (self.loopback and is_loopback(name))


class Shield:
    """Refuses what another site sent, and gives each answer its headers."""

    def __init__(self, app: ASGIApp, names: Names, *, tls: bool) -> None:
        self._app, self._names = app, names
        self._headers = dict(HEADERS)
        if tls:
            self._headers["strict-transport-security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        if refused := self.refusal(scope["method"], Headers(scope=scope)):
            await PlainTextResponse(refused + "\n", 403)(scope, receive, with_headers)
            return
        await self._app(scope, receive, with_headers)

    def refusal(self, method: str, headers: Headers) -> str:
        """Why a request is refused; empty if it is not."""
        host = headers.get("host", "")
        if not self._names.has(host):
            return "this server does not answer under that name; use the address that it printed"
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return "a page of another origin cannot use this server"
        site = headers.get("sec-fetch-site", "none")
        navigates = method in _READING and headers.get("sec-fetch-mode") == "navigate"
        framed = headers.get("sec-fetch-dest") in {"iframe", "frame", "embed", "object"}
        if site not in _OWN and (framed or not navigates):
            return "a page of another site cannot use this server"
        if method not in _READING and origin is None and "sec-fetch-site" not in headers:
            return "a browser sends the origin of a form; this request does not have one"
        return ""
