"""HTTPS to the lab's Proxmox, with the manners of the real provider.

Blocking connections in a few threads: `http.client` gives the reason phrase (Proxmox puts its
message there) and costs a tenth of the start-up time of the larger clients.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import select
import ssl
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.redaction import Secret

_THREADS = 32
_TIMEOUT = 300.0
_GET_ATTEMPTS = 3
_SERVER_ERROR = 500
_NOT_FOUND = 404
_GONE = ("does not exist", "no such resource", "no such ha", "No such file or directory")

Params = dict[str, str] | list[tuple[str, str]]


class ApiError(TalopsError):
    """Proxmox said no; `code` 0 means that it did not answer at all."""

    def __init__(self, code: int, reason: str, path: str) -> None:
        said = f"HTTP {code}: {reason}" if code else reason
        super().__init__(said, where=path)
        self.code = code
        self.reason = reason

    @property
    def gone(self) -> bool:
        if self.code == _NOT_FOUND:
            return True
        return self.code == _SERVER_ERROR and any(text in self.reason for text in _GONE)

    @property
    def transient(self) -> bool:
        if self.code:
            return self.code >= _SERVER_ERROR
        return "got no worker upid" in self.reason or "got timeout" in self.reason

    @property
    def already_exists(self) -> bool:
        return "already exists" in self.reason


@dataclass(frozen=True)
class Login:
    """A token, a ticket with its CSRF token, or a user and password to get a ticket with."""

    token: Secret | None = None
    ticket: Secret | None = None
    csrf: Secret | None = None
    username: str | None = None
    password: Secret | None = None


@dataclass(frozen=True)
class Endpoint:
    url: str
    login: Login
    insecure: bool = False
    min_tls: str = "1.3"


class Api:
    def __init__(self, endpoint: Endpoint) -> None:
        parts = urlsplit(endpoint.url)
        self._host, self._port = parts.hostname or "", parts.port or 443
        self._login = endpoint.login
        self._context = _tls(endpoint)
        self._idle: list[http.client.HTTPSConnection] = []
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="proxmox")
        self._ticket = asyncio.Lock()
        self._headers: dict[str, str] | None = None

    async def get(self, path: str, params: Params | None = None) -> Any:
        return await self.call("GET", path, params)

    async def call(self, method: str, path: str, params: Params | None = None) -> Any:
        """`data` of the answer."""
        headers = await self._signed(method)
        attempts = _GET_ATTEMPTS if method == "GET" else 1
        for attempt in range(1, attempts + 1):
            try:
                return await self._in_thread(method, path, params, headers)
            except ApiError as error:
                if error.code or attempt == attempts:
                    raise
        raise AssertionError

    async def remove(self, path: str, params: Params | None = None) -> bool:
        """Whether it was there."""
        try:
            await self.call("DELETE", path, params)
        except ApiError as error:
            if error.gone:
                return False
            raise
        return True

    def close(self) -> None:
        for connection in self._idle:
            connection.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _in_thread(
        self, method: str, path: str, params: Params | None, headers: dict[str, str]
    ) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._threads, self._exchange, method, path, params, headers
        )

    async def _signed(self, method: str) -> dict[str, str]:
        if self._login.token is not None:
            return {"Authorization": f"PVEAPIToken={self._login.token.reveal()}"}
        async with self._ticket:
            if self._headers is None:
                self._headers = await self._log_in()
        cookie = {"Cookie": self._headers["Cookie"]}
        return cookie if method == "GET" else self._headers

    async def _log_in(self) -> dict[str, str]:
        login = self._login
        if login.ticket is not None and login.csrf is not None:
            ticket, csrf = login.ticket.reveal(), login.csrf.reveal()
        else:
            secret = login.password.reveal() if login.password else ""
            form = {"username": login.username or "", "password": secret}
            data = await self._in_thread("POST", "/access/ticket", form, {})
            ticket, csrf = data["ticket"], data["CSRFPreventionToken"]
        return {"Cookie": f"PVEAuthCookie={ticket}", "CSRFPreventionToken": csrf}

    def _exchange(
        self, method: str, path: str, params: Params | None, headers: dict[str, str]
    ) -> Any:
        target, body, extra = _address(method, path, params)
        connection = self._connection()
        try:
            connection.request(
                method, target, body, {"Accept": "application/json", **headers, **extra}
            )
            response = connection.getresponse()
            raw = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            what = f"cannot reach {self._host}:{self._port}: {error or type(error).__name__}"
            raise ApiError(0, what, path) from error
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return _answer(response.status, response.reason, raw, path)

    def _connection(self) -> http.client.HTTPSConnection:
        """A kept one if the server has not closed it meanwhile: a POST must not die of that."""
        while self._idle:
            kept = self._idle.pop()
            if kept.sock is not None and not select.select([kept.sock], [], [], 0)[0]:
                return kept
            kept.close()
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=_TIMEOUT, context=self._context
        )


def _tls(endpoint: Endpoint) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.minimum_version = (
        ssl.TLSVersion.TLSv1_3 if endpoint.min_tls == "1.3" else ssl.TLSVersion.TLSv1_2
    )
    if endpoint.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _address(
    method: str, path: str, params: Params | None
) -> tuple[str, str | None, dict[str, str]]:
    target = f"/api2/json{path}"
    if not params:
        return target, None, {}
    encoded = urlencode(params)
    if method in ("GET", "DELETE"):
        return f"{target}?{encoded}", None, {}
    return target, encoded, {"Content-Type": "application/x-www-form-urlencoded"}


def _answer(status: int, reason: str, raw: bytes, path: str) -> Any:
    try:
        body = json.loads(raw) if raw else {}
    except ValueError:
        body = {}
    if status in range(200, 300):
        return body.get("data")
    raise ApiError(status, _complaint(reason, body if isinstance(body, dict) else {}), path)


def _complaint(reason: str, body: Mapping[str, Any]) -> str:
    errors = body.get("errors") or {}
    more = [f"{name}: {str(text).strip()}" for name, text in errors.items()]
    lines = str(body.get("message") or "").splitlines()
    more += [line for line in lines if line and not line.startswith(reason)]
    return f"{reason} ({' - '.join(more)})" if more else reason
