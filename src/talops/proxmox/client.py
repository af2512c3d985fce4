"""Client of one Proxmox API: by token, or by password and ticket; sends forms, returns `data`."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import httpx

from talops.answersize import limits
from talops.errors import TalopsError, UnreachableError
from talops.proxmox.answers import OK, LoginError, content_of, refusal
from talops.proxmox.shapes import shape_of
from talops.redaction import Secret
from talops.shapes import misfit, without_nulls

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

SECONDS = 30.0
READS = frozenset({"GET", "DELETE"})


@dataclass(frozen=True)
class Token:
    """`user@realm!name` and its value."""

    id: str
    value: Secret


@dataclass(frozen=True)
class Password:
    user: str
    value: Secret


@dataclass(frozen=True)
class Access:
    """The address of a Proxmox, the credentials, and which certificates are trusted."""

    endpoint: str
    login: Token | Password | None  # None: no credentials are known
    insecure: bool = False
    ca_file: str | None = None

    @property
    def base(self) -> str:
        return f"{self.endpoint.rstrip('/').removesuffix('/api2/json')}/api2/json/"

    @property
    def who(self) -> str:
        if self.login is None:
            return "anonymous"
        return self.login.id if isinstance(self.login, Token) else self.login.user


class Client:
    """Use as `async with`; every failure is raised as a TalopsError."""

    def __init__(
        self, access: Access, *, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self.access = access
        self._csrf: str | None = None
        self._http = httpx.AsyncClient(
            base_url=access.base,
            headers={"Accept": "application/json", "User-Agent": "talops"},
            timeout=SECONDS,
            verify=_trust(access) if transport is None else True,
            transport=transport,
            trust_env=False,
            event_hooks=limits(),
        )

    async def __aenter__(self) -> Self:
        try:
            await self._log_in()
        except BaseException:
            await self._http.aclose()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.aclose()

    async def get(self, path: str, /, **params: Any) -> Any:
        return await self.ask("GET", path, params)

    async def ask(self, method: str, path: str, params: Mapping[str, Any] | None = None) -> Any:
        sent: dict[str, Any] = {}
        if params:
            sent = {"params" if method in READS else "data": _wire(params)}
        if self._csrf and method != "GET":
            sent["headers"] = {"CSRFPreventionToken": self._csrf}
        where = f"{self.access.base}{path}"
        try:
            answer = await self._http.request(method, path, **sent)
        except httpx.HTTPError as error:
            raise self._silent(error, where) from error
        except (httpx.InvalidURL, UnicodeError) as error:
            raise _not_proxmox(f"it named an object that has no URL: {error}", where) from error
        if answer.status_code != OK:
            raise refusal(answer, where)
        content = content_of(answer)
        if "data" not in content:
            raise _not_proxmox("it has no data", where)
        data = without_nulls(content["data"])
        shape = shape_of(method, path, params or {})
        if shape is not None and (wrong := misfit(data, shape)):
            raise _not_proxmox(wrong, where)
        return data

    async def _log_in(self) -> None:
        login = self.access.login
        if login is None:
            raise LoginError(
                "there are no credentials for Proxmox",
                where=self.access.base,
                hint="talops host prepare, or set PROXMOX_VE_API_TOKEN=user@realm!name=value",
            )
        if isinstance(login, Token):
            self._http.headers["Authorization"] = f"PVEAPIToken={login.id}={login.value.reveal()}"
            return
        given = {"username": login.user, "password": login.value.reveal()}
        answer = await self.ask("POST", "access/ticket", given)
        if "ticket" not in answer or answer.get("NeedTFA"):
            raise LoginError(
                f"{login.user} needs a second factor, which talops does not support",
                where=self.access.base,
                hint="use an API token: PROXMOX_VE_API_TOKEN=user@realm!name=value",
            )
        ticket, csrf = answer["ticket"], answer.get("CSRFPreventionToken", "")
        if not all(word.isascii() and word.isprintable() for word in (ticket, csrf)):
            raise _not_proxmox("its ticket cannot be sent back", self.access.base)
        self._http.cookies.set("PVEAuthCookie", ticket)
        self._csrf = csrf

    def _silent(self, error: httpx.HTTPError, where: str) -> TalopsError:
        text = str(error) or type(error).__name__
        if "CERTIFICATE_VERIFY_FAILED" in text:
            return UnreachableError(
                f"Proxmox' certificate is not trusted: {_certificate_words(text)}",
                where=where,
                hint="copy /etc/pve/pve-root-ca.pem from the host and set proxmox_ca_file",
            )
        return UnreachableError(
            f"Proxmox does not answer: {text}",
            where=where,
            hint="check proxmox_api_url, the network and that pveproxy runs on the host",
        )


def _not_proxmox(wrong: str, where: str) -> TalopsError:
    return TalopsError(
        f"this is not a Proxmox API: {wrong}",
        where=where,
        hint="check proxmox_api_url in cluster.yaml",
    )


def _wire(params: Mapping[str, Any]) -> dict[str, Any]:
    """Proxmox takes 1 and 0 for booleans, and refuses `true`."""
    return {key: int(v) if isinstance(v, bool) else v for key, v in params.items()}


def _trust(access: Access) -> ssl.SSLContext | bool:
    if access.insecure:
        return False
    try:
        return ssl.create_default_context(cafile=access.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise TalopsError(
            f"cannot read the CA: {error}",
            where=access.ca_file,
            hint="correct proxmox_ca_file in cluster.yaml",
        ) from error


def _certificate_words(text: str) -> str:
    return text.partition("verify failed: ")[2].partition(" (_ssl")[0] or text


def token(text: str) -> Token:
    """From `user@realm!name=value`, the form that the provider takes."""
    name, found, value = text.partition("=")
    if not found or "!" not in name or "@" not in name or not value:
        raise TalopsError(
            "an API token has the form user@realm!name=value",
            hint="correct PROXMOX_VE_API_TOKEN",
        )
    return Token(name, Secret(value))
