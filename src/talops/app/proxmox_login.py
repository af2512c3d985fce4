"""Log in to Proxmox: a token from the encrypted file or the environment, or a password."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.app.opening import with_credentials
from talops.errors import TalopsError
from talops.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.events import Emit
    from talops.inventory.model import Proxmox
    from talops.proxmox.client import Access, Password, Token
    from talops.site.site import ClosedSite

TOKEN_ID, TOKEN_VALUE = "proxmox_api_token_id", "proxmox_api_token_secret"


def proxmox_of(site: ClosedSite) -> Proxmox:
    if site.cluster.proxmox is None:
        raise TalopsError(
            "this cluster is on bare metal: it has no Proxmox hosts",
            where="cluster.yaml",
            hint="add proxmox_api_url and proxmox_node",
        )
    return site.cluster.proxmox


def user_to_ask(site: ClosedSite, user: str | None = None) -> str | None:
    """The user whose password is missing; None if credentials are available."""
    return asked_user(site.environment, user)


def asked_user(environment: Mapping[str, str], user: str | None = None) -> str | None:
    """The same before the directory of the cluster exists."""
    if user is None and not environment.get("PROXMOX_VE_API_TOKEN"):
        user = environment.get("PROXMOX_VE_USERNAME") or None
    if user is None:
        return None
    if "@" not in user:
        raise TalopsError(f"{user!r} does not have a realm", hint=f"write {user}@pam or {user}@pve")
    return user if "PROXMOX_VE_PASSWORD" not in environment else None


async def access_to(
    site: ClosedSite, emit: Emit, user: str | None = None, password: Secret | None = None
) -> Access:
    """`user` logs in with a password; otherwise use the available credentials."""
    if user:
        return _access(site, _password(site.environment, user, password))
    return _access(site, await _available(site, emit, password))


def access_without_site(
    endpoint: str,
    environment: Mapping[str, str],
    user: str | None = None,
    password: Secret | None = None,
    ca_file: str | None = None,
) -> Access:
    """Before there is an inventory: a token or a password from the environment, or a prompt."""
    from talops.proxmox.client import Access, token

    given = environment.get("PROXMOX_VE_API_TOKEN")
    user = user or (None if given else environment.get("PROXMOX_VE_USERNAME"))
    if not user and not given:
        raise TalopsError(
            "no credentials for Proxmox",
            where=endpoint,
            hint="add --user root@pam, or set PROXMOX_VE_API_TOKEN=user@realm!name=value",
        )
    login = _password(environment, user, password) if user else token(given or "")
    return Access(endpoint, login, insecure=is_insecure(environment), ca_file=ca_file)


def is_insecure(environment: Mapping[str, str]) -> bool:
    return environment.get("PROXMOX_VE_INSECURE", "").lower() in {"1", "true", "yes"}


def with_token(site: ClosedSite, name: str, value: Secret) -> Access:
    from talops.proxmox.client import Token

    return _access(site, Token(name, value))


def _access(site: ClosedSite, login: Token | Password) -> Access:
    from talops.proxmox.client import Access

    proxmox, environment = proxmox_of(site), site.environment
    return Access(
        endpoint=environment.get("PROXMOX_VE_ENDPOINT") or proxmox.api_url,
        login=login,
        insecure=proxmox.insecure or is_insecure(environment),
        ca_file=str((site.root / proxmox.ca_file).resolve()) if proxmox.ca_file else None,
    )


async def _available(site: ClosedSite, emit: Emit, password: Secret | None) -> Token | Password:
    from talops.proxmox.client import Token, token

    given = site.environment.get("PROXMOX_VE_API_TOKEN")
    if given:
        return token(given)
    if user := site.environment.get("PROXMOX_VE_USERNAME"):
        return _password(site.environment, user, password)
    kept = (await with_credentials(site, emit)).credentials
    if kept.keys() >= {TOKEN_ID, TOKEN_VALUE}:
        return Token(kept[TOKEN_ID].reveal(), kept[TOKEN_VALUE])
    raise TalopsError(
        "no credentials for Proxmox",
        where=str(site.root),
        hint="talops host prepare --user root@pam creates a token and stores it encrypted; or set "
        "PROXMOX_VE_API_TOKEN=user@realm!name=value",
    )


def _password(environment: Mapping[str, str], user: str, given: Secret | None) -> Password:
    """From the environment, or from a prompt; never from an argument."""
    from talops.proxmox.client import Password

    given = given or Secret(environment.get("PROXMOX_VE_PASSWORD", ""))
    if not given:
        raise TalopsError(
            f"no password for {user}",
            hint="set PROXMOX_VE_PASSWORD, or run this on a terminal and type it",
        )
    return Password(user, given)
