"""JSON-RPC 2.0 over WebSocket, for TrueNAS 25.04 and later."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

from websockets.asyncio.client import connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidStatus,
    WebSocketException,
)

from talops.errors import TalopsError, UnreachableError
from talops.truenas.access import silent, starting
from talops.truenas.refusals import Answer, key_refused, name_of, refusal
from talops.waiting import Ready, wait_for

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

    from talops.truenas.access import Access
    from talops.waiting import NotYet

Entry = dict[str, Any]

# Do not wait for the close: every response has been read or abandoned.
FAREWELL = 1.0
POLL = 2.0
LARGEST_ANSWER = 64 * 1024 * 1024
UNKNOWN_METHOD = -32601
TOO_MANY = -32000
SERVER_ERROR = 500


class _Connect(connect):
    """Do not follow redirects: a redirect could send the key to another server."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class Rpc:
    """One session: open, log in, then one request after the other."""

    dialect = "JSON-RPC"

    def __init__(self, access: Access, connection: ClientConnection) -> None:
        self._access = access
        self._connection = connection
        self._turn = asyncio.Lock()
        self._last = 0

    @classmethod
    async def open(cls, access: Access) -> Rpc:
        where = access.socket
        try:
            connection = await _Connect(
                where,
                ssl=access.trust(),
                proxy=None,
                open_timeout=access.seconds,
                close_timeout=FAREWELL,
                max_size=LARGEST_ANSWER,
                user_agent_header="talops",
            )
        except InvalidStatus as error:
            status = error.response.status_code
            if status >= SERVER_ERROR:
                raise starting(status, where) from error
            raise silent(error, where) from error
        except (OSError, TimeoutError, InvalidHandshake) as error:
            raise silent(error, where) from error
        session = cls(access, connection)
        try:
            await session._log_in()
        except BaseException:
            await session.close()
            raise
        return session

    async def close(self) -> None:
        with contextlib.suppress(WebSocketException, OSError):
            await self._connection.close()

    async def find(self, what: str, field: str = "", value: str = "") -> list[Entry]:
        # Request the dataset alone, without its children.
        asked = ([[field, "=", value]], {"extra": {"retrieve_children": False}}) if field else ()
        found = await self._call(f"{what}.query", *asked)
        if not isinstance(found, list):
            raise self._nonsense(f"{what}.query")
        return found

    async def create(self, what: str, body: Entry) -> Entry:
        return self._entry(f"{what}.create", await self._call(f"{what}.create", body))

    async def update(self, what: str, name: str, body: Entry) -> Entry:
        return self._entry(f"{what}.update", await self._call(f"{what}.update", name, body))

    async def _log_in(self) -> None:
        """Wait and retry if there were too many logins before."""
        kind = await wait_for(
            "TrueNAS to accept the login",
            self._try_to_log_in,
            timeout=self._access.patience,
            interval=POLL,
            hint="too many logins from this address; retry in a minute",
        )
        if isinstance(kind, UnreachableError):
            raise kind
        if kind != "SUCCESS":
            raise key_refused(self._access.socket, expired=kind == "EXPIRED")

    async def _try_to_log_in(self) -> Ready[str | UnreachableError] | NotYet:
        try:
            return Ready(await self._show_key())
        except UnreachableError as error:
            return Ready(error)  # this connection is closed: a retry would not reopen it

    async def _show_key(self) -> str:
        key = self._access.key.reveal()
        if self._access.username is None:
            known = await self._call("auth.login_with_api_key", key)
            return "SUCCESS" if known is True else "AUTH_ERR"
        given = {
            "mechanism": "API_KEY_PLAIN",
            "username": self._access.username,
            "api_key": key,
            "login_options": {"user_info": False},
        }
        answer = await self._call("auth.login_ex", given)
        return str(answer.get("response_type") if isinstance(answer, dict) else answer)

    async def _call(self, method: str, *params: Any) -> Any:
        """The result; if the connection ends before it, the outcome of the call is unknown."""
        where = f"{self._access.socket} {method}"
        async with self._turn:
            self._last += 1
            asked = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": list(params)}
            try:
                async with asyncio.timeout(self._access.seconds):
                    await self._connection.send(json.dumps(asked))
                    answer = await self._answer(self._last, where)
            except ConnectionClosed as error:
                raise silent(ConnectionError("connection closed"), where) from error
            except (OSError, TimeoutError) as error:
                raise silent(error, where) from error
        if "error" in answer:
            raise _refused(answer["error"], where)
        return answer.get("result")

    async def _answer(self, number: int, where: str) -> Entry:
        """Skip notifications, which talops does not subscribe to."""
        while True:
            text = await self._connection.recv()
            try:
                message = json.loads(text)
            except ValueError as error:
                raise self._nonsense(where) from error
            if isinstance(message, dict) and message.get("id") == number:
                return message

    def _entry(self, method: str, found: Any) -> Entry:
        if not isinstance(found, dict):
            raise self._nonsense(method)
        return found

    def _nonsense(self, method: str) -> TalopsError:
        return TalopsError(
            f"the response to {method} is not from a TrueNAS",
            where=self._access.socket,
            hint="check truenas.url in cluster.yaml",
        )


def _refused(error: Any, where: str) -> TalopsError:
    raw = error if isinstance(error, dict) else {}
    if raw.get("code") == UNKNOWN_METHOD:
        return TalopsError("this TrueNAS does not support the method", where=where)
    if raw.get("code") == TOO_MANY:
        return refusal(Answer("EBUSY", str(raw.get("message"))), where)
    said = raw.get("data")
    data: Entry = said if isinstance(said, dict) else {}
    message = str(data.get("reason") or raw.get("message") or "no reason given")
    name = str(data.get("errname") or name_of(data.get("error")))
    extra = [row for row in data.get("extra") or () if isinstance(row, list) and len(row) > 1]
    # For a single field its number is more specific than the outer EINVAL, for example ENOENT.
    own = {name_of(row[2]) for row in extra if len(row) > 2}  # noqa: PLR2004  (field, text, number)
    fields = tuple((str(row[0] or ""), str(row[1])) for row in extra)
    return refusal(Answer(own.pop() if len(own) == 1 else name, message, fields), where)
