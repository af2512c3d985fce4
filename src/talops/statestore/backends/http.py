"""`state: http`: a talops state server; reading and writing states also works with others."""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx

from talops.answersize import limits
from talops.errors import TalopsError, UnreachableError
from talops.statestore.backends import answers
from talops.statestore.backends.interface import Kept, StateInfo, info_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from talops.redaction import Secret
    from talops.statestore.model import AuditEntry

TIMEOUT = 60.0
# Of a state, or of all versions of one.
LARGEST = 512 << 20
OLDER_LAYOUT = "/tfstate/states"


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """`url` ends with the project: https://states.example/homelab."""

    url: str
    states: tuple[str, ...] = ()
    username: str = ""
    password: Secret | None = None
    ca_file: Path | None = None
    client_certificate: Path | None = None
    client_key: Path | None = None

    @property
    def root(self) -> str:
        url = self.url.rstrip("/")
        if url.endswith(OLDER_LAYOUT):
            return url.removesuffix(OLDER_LAYOUT)
        return url.rpartition("/")[0]

    @property
    def project(self) -> str:
        url = self.url.rstrip("/")
        return "tfstate" if url.endswith(OLDER_LAYOUT) else url.rpartition("/")[2]


class HttpBackend:
    def __init__(
        self,
        settings: HttpSettings,
        who: str = "talops",
        *,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._settings = settings
        self._who = who
        auth = None
        if settings.username and settings.password:
            auth = httpx.BasicAuth(settings.username, settings.password.reveal())
        self._client = httpx.AsyncClient(
            auth=auth,
            timeout=TIMEOUT,
            verify=_trust(settings) if transport is None else True,
            transport=transport,
            event_hooks=limits(LARGEST),
        )

    @property
    def place(self) -> str:
        return self._settings.url

    async def overview(self) -> Sequence[StateInfo]:
        answer = await self._ask("GET", f"{self._settings.root}/-/states", missing=True)
        if answer is None:  # another kind of server: request the known states
            return [info_of(s, await self.read(s), None) for s in self._settings.states]
        prefix = f"{self._settings.project}/"
        found = {
            entry["name"].removeprefix(prefix): answers.info(entry, prefix)
            for entry in answers.states(answer)
            if entry["name"].startswith(prefix)
        }
        absent = {name: StateInfo(name) for name in self._settings.states}
        return [info for _, info in sorted({**absent, **found}.items())]

    async def read(self, state: str, version: str | None = None) -> bytes | None:
        address = self._state(state) if version is None else self._admin(state, "versions", version)
        answer = await self._ask("GET", address, missing=True)
        return answer.content if answer and answer.content else None

    async def versions(self, state: str) -> Sequence[Kept]:
        answer = await self._ask("GET", self._admin(state, "versions"), missing=True)
        if answer is None:
            raise TalopsError(
                "this server does not keep versions",
                where=self.place,
                hint="use talops state serve",
            )
        return answers.versions(answer)

    async def write(self, state: str, data: bytes, *, force: bool = False) -> None:
        lock = self._lock_document()
        await self._ask("LOCK", self._state(state), json.dumps(lock).encode())
        try:
            query = f"?ID={lock['ID']}" + ("&force=true" if force else "")
            await self._ask("POST", self._state(state) + query, data)
        finally:
            await self._ask("UNLOCK", self._state(state), json.dumps(lock).encode())

    async def rollback(self, state: str, version: str) -> None:
        address = self._admin(state, "rollback") + f"?version={version}"
        await self._ask("POST", address)

    async def unlock(self, state: str, lock_id: str | None, run: str = "") -> bool:
        held = await self._ask("GET", self._state(state) + "/lock", missing=True)
        body = json.dumps({"ID": lock_id}).encode() if lock_id else b""
        bound = f"?run={run}" if run else ""
        await self._ask("UNLOCK", self._state(state) + bound, body)
        return held is not None

    async def retire(self, state: str) -> str:
        return f"kept unchanged at {self._state(state)}"

    @property
    def root(self) -> str:
        return self._settings.root

    async def audit(self) -> list[AuditEntry]:
        answer = await self._ask("GET", f"{self._settings.root}/-/audit")
        assert answer is not None
        return answers.audit(answer)

    async def blocks(self, after: int) -> dict[str, Any]:
        """A page of the audit chain, with what the server says is its end."""
        address = f"{self._settings.root}/-/audit/blocks?after={after}"
        answer = await self._ask("GET", address, missing=True)
        if answer is None:
            raise TalopsError(
                "this server does not keep an audit chain",
                where=self.place,
                hint="use talops state serve of this version",
            )
        return answers.page(answer)

    async def close(self) -> None:
        await self._client.aclose()

    def _state(self, state: str) -> str:
        return f"{self._settings.url.rstrip('/')}/{state}"

    def _admin(self, state: str, *rest: str) -> str:
        settings = self._settings
        return "/".join([f"{settings.root}/-/states/{settings.project}/{state}", *rest])

    def _lock_document(self) -> dict[str, str]:
        created = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        operation = "talops state"
        return {
            "ID": str(uuid.uuid4()),
            "Operation": operation,
            "Who": self._who,
            "Created": created,
        }

    async def _ask(
        self, method: str, address: str, body: bytes = b"", *, missing: bool = False
    ) -> httpx.Response | None:
        headers = {}
        if body:
            digest = hashlib.md5(body, usedforsecurity=False).digest()
            headers["Content-MD5"] = base64.b64encode(digest).decode()
        try:
            answer = await self._client.request(method, address, content=body, headers=headers)
        except httpx.HTTPError as error:
            raise UnreachableError(
                f"the state server does not answer: {type(error).__name__}",
                where=self.place,
                hint="check that it runs and that ca_file matches its certificate",
            ) from None
        except (httpx.InvalidURL, UnicodeError) as error:
            raise TalopsError(f"this is not an address: {error}", where=address) from error
        if missing and answer.status_code in {204, 404, 405}:
            return None
        answers.check(answer, address)
        return answer


def _trust(settings: HttpSettings) -> ssl.SSLContext | bool:
    if not settings.url.startswith("https:"):
        return True
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
        if settings.client_certificate:
            context.load_cert_chain(settings.client_certificate, settings.client_key)
    except (OSError, ssl.SSLError) as error:
        raise TalopsError(
            f"invalid certificate: {error}", where=str(settings.ca_file or settings.url)
        ) from error
    return context
