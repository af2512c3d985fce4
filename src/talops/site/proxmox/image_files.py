"""The images of a plan that do not exist on its hosts yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import DeniedError
from talops.proxmox import storage
from talops.proxmox.client import Client
from talops.proxmox.guests import guests
from talops.site.proxmox.access import access_of
from talops.site.proxmox.wanted import wanted

if TYPE_CHECKING:
    from talops.site.site import Site


async def absent_images(site: Site) -> list[str]:
    """HOST/VOLUME of each file to download; none if the template already exists."""
    asked, reached = wanted(site.cluster), access_of(site)
    if reached is None:
        raise DeniedError("no credentials for Proxmox", hint="talops host prepare --user root@pam")
    async with Client(reached) as client:
        if asked.template and any(
            guest.template and guest.vm_id == asked.template.vm_id for guest in await guests(client)
        ):
            return []
        there = {
            (host, volume)
            for host, place in sorted({(image.host, image.storage) for image in asked.images})
            for volume in await storage.files(client, host, place)
        }
    needed = [
        (image.host, f"{image.storage}:{image.content}/{image.file_name}") for image in asked.images
    ]
    return [f"{host}/{volume}" for host, volume in needed if (host, volume) not in there]
