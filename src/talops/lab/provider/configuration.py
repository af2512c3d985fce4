"""The provider block, the environment that may stand in for it, and the one endpoint allowed."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from talops.lab.provider.api import Endpoint, Login
from talops.lab.provider.kinds import refuse
from talops.lab.provider.schema import Attribute, Block, NestedBlock
from talops.lab.provider.validation import matching, one_of
from talops.lab.provider.values import UNKNOWN, Values
from talops.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

_CREDENTIAL = r"\S+@\S+!\S+=[a-zA-Z0-9-]+"
_SSH = Block(
    {
        "agent": Attribute("bool"),
        "agent_forwarding": Attribute("bool"),
        "agent_socket": Attribute(),
        "node_address_source": Attribute(),
        "password": Attribute(sensitive=True),
        "private_key": Attribute(sensitive=True),
        "socks5_password": Attribute(sensitive=True),
        "socks5_server": Attribute(),
        "socks5_username": Attribute(),
        "username": Attribute(),
    },
    {
        "node": NestedBlock(
            Block(
                {
                    "address": Attribute(required=True),
                    "name": Attribute(required=True),
                    "port": Attribute("number"),
                }
            )
        )
    },
)

PROVIDER = Block(
    {
        "api_token": Attribute(sensitive=True),
        "auth_ticket": Attribute(sensitive=True),
        "csrf_prevention_token": Attribute(sensitive=True),
        "endpoint": Attribute(),
        "insecure": Attribute("bool"),
        "min_tls": Attribute(check=one_of("1.2", "1.3", "1.0", "1.1", "")),
        "otp": Attribute(deprecated=True),
        "password": Attribute(sensitive=True),
        "random_vm_id_end": Attribute("number"),
        "random_vm_id_start": Attribute("number"),
        "random_vm_ids": Attribute("bool"),
        "tmp_dir": Attribute(),
        "username": Attribute(),
    },
    {"ssh": NestedBlock(_SSH, max_items=1)},
    description="talops lab stand-in for bpg/proxmox; it works with the lab's Proxmox only.",
)
_FROM_ENVIRONMENT = {
    "api_token": "PROXMOX_VE_API_TOKEN",
    "auth_ticket": "PROXMOX_VE_AUTH_TICKET",
    "csrf_prevention_token": "PROXMOX_VE_CSRF_PREVENTION_TOKEN",
    "endpoint": "PROXMOX_VE_ENDPOINT",
    "insecure": "PROXMOX_VE_INSECURE",
    "min_tls": "PROXMOX_VE_MIN_TLS",
    "password": "PROXMOX_VE_PASSWORD",
    "username": "PROXMOX_VE_USERNAME",
}


def check(config: Values) -> list[str]:
    url = config.get("endpoint")
    if url is None or url is UNKNOWN or str(url).startswith("https://"):
        return []
    return [f"endpoint: expected an https:// address, got {url!r}"]


def endpoint(config: Values, environment: Mapping[str, str]) -> Endpoint:
    chosen = {
        name: config.get(name) if config.get(name) is not None else environment.get(variable)
        for name, variable in _FROM_ENVIRONMENT.items()
    }
    url = str(chosen["endpoint"] or "")
    _only_the_lab(url)
    return Endpoint(
        url=url,
        login=_login(chosen),
        insecure=str(chosen["insecure"]).lower() in ("true", "1", "yes"),
        min_tls=str(chosen["min_tls"] or "1.3"),
    )


def _login(chosen: Values) -> Login:
    token = chosen["api_token"]
    if token:
        complaint = matching(_CREDENTIAL, "USER@REALM!TOKENID=UUID")(token)
        if complaint:
            refuse("the API token is not of the form USER@REALM!TOKENID=UUID")
        return Login(token=Secret(token))
    if chosen["auth_ticket"] and chosen["csrf_prevention_token"]:
        return Login(
            ticket=Secret(chosen["auth_ticket"]), csrf=Secret(chosen["csrf_prevention_token"])
        )
    if not chosen["username"] or not chosen["password"]:
        refuse("no credentials: set api_token, or username and password")
    return Login(username=chosen["username"], password=Secret(chosen["password"]))


def _only_the_lab(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https":
        refuse(f"the endpoint must be an https:// address, got {url!r}")
    if not _on_loopback(parts.hostname or ""):
        refuse(
            f"{parts.hostname} is not the lab",
            "This is the talops lab's stand-in for bpg/proxmox. It talks to loopback addresses "
            "only; for a real Proxmox let OpenTofu install the real provider.",
        )


def _on_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
