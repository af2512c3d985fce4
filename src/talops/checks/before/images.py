"""The Image Factory answers, and knows or can register every schematic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError, UnreachableError
from talops.pipeline.checks import failed, passed, warning
from talops.plural import count
from talops.site.proxmox.image_files import absent_images
from talops.site.site import Site
from talops.talos.image_factory import ImageFactory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.inventory.model import Cluster
    from talops.pipeline.checks import Finding
    from talops.site.site import ClosedSite


async def look(site: ClosedSite) -> list[Finding]:
    cluster = site.cluster
    factory = ImageFactory(
        cluster.image_factory_url, ca_file=site.path_of(cluster.image_factory_ca_file)
    )
    wanted = dict.fromkeys(node.image.schematic for node in cluster.nodes)
    try:
        return judge(cluster, {name: await factory.knows(name) for name in wanted}, factory.url)
    except UnreachableError as error:
        if not isinstance(site, Site) or cluster.proxmox is None:
            raise
        try:
            absent = await absent_images(site)
        except TalopsError:  # the check of Proxmox reports its own errors
            raise error from None
        return judge_silent(error, absent, factory.url)


def judge_silent(error: UnreachableError, absent: Sequence[str], url: str) -> list[Finding]:
    """The factory is not needed if every image is already on its storage."""
    if absent:
        names = ", ".join(absent)
        return [
            failed(f"{error.what}; these images are not on their storage: {names}", url, error.hint)
        ]
    what = f"{error.what}; all images are already on their storage"
    return [
        warning(
            what, url, "nodes that are not installed yet still need the factory's installer image"
        )
    ]


def judge(cluster: Cluster, known: Mapping[str, bool], url: str) -> list[Finding]:
    """A schematic that is given by its ID alone cannot be registered."""
    by_id = {node.image.schematic for node in cluster.nodes if node.extensions is None}
    foreign = [name for name, there in known.items() if not there and name in by_id]
    hint = "correct schematic_id in nodes.yaml, or use `extensions` instead"
    found = [
        failed(f"the Image Factory does not know schematic {name[:12]}", url, hint)
        for name in foreign
    ]
    new = sum(1 for there in known.values() if not there)
    later = f", {new} to register" if new else ""
    return found or [
        passed(f"the Image Factory answers; {count(len(known), 'schematic')}{later}", url)
    ]
