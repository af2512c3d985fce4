"""The login to Proxmox that the provider of a site uses, for the client of talops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.site.layer_access import layer_variables, proxmox_access

if TYPE_CHECKING:
    from talops.proxmox.client import Access
    from talops.site.site import Site


def access_of(site: Site) -> Access | None:
    """As the provider itself will log in; None without an address or without a login."""
    every = layer_variables(site.cluster, "", site.credentials, site.root, site.environment)
    found = proxmox_access(every)
    return found if found and found.login else None
