"""The Proxmox login that the provider of a site uses, for talops' own client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.site.layer_access import layer_variables, proxmox_access

if TYPE_CHECKING:
    from talops.proxmox.client import Access
    from talops.site.site import Site


def access_of(site: Site) -> Access | None:
    """The same login as the provider's; None without an address or without a login."""
    every = layer_variables(site.cluster, "", site.credentials, site.root, site.environment)
    found = proxmox_access(every)
    return found if found and found.login else None
