"""The login to Proxmox that the provider of a site uses, for the client of talops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.proxmox.client import Access, Password, Token
from talops.redaction import Secret
from talops.site.layer_access import layer_variables, proxmox_access

if TYPE_CHECKING:
    from talops.site.site import Site


def access_of(site: Site) -> Access | None:
    """As the provider itself will log in."""
    every = layer_variables(site.cluster, "", site.credentials, site.root, site.environment)
    found = proxmox_access(every)
    if found is None:
        return None
    login: Token | Password | None = None
    if found.token:
        name, _, value = found.token.reveal().partition("=")
        login = Token(name, Secret(value))
    elif found.ticket:
        login = Password(*found.ticket)
    if login is None:
        return None
    return Access(found.endpoint, login, insecure=found.insecure, ca_file=found.ca_file)
