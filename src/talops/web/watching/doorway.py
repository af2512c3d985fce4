"""A site that stays open between looks, and is opened again when its files change."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.app.opening import closed_site, open_site

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from talops.inventory.model import Cluster
    from talops.site.site import Site

# What a site reads when it is opened, or keeps from then on.
FILES = (
    *("cluster.yaml", "nodes.yaml", "infrastructure/secrets.sops.yaml", "kubeconfig"),
    *("talos/talsecret.sops.yaml", "talos/talsecret.yaml", "age.key"),
)

Stamp = tuple[tuple[int, int] | None, ...]


class Doorway:
    """`cluster` is the inventory as it was last read."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self.root = root.resolve()
        self._environment = environment
        self._site: Site | None = None
        self._stamp: Stamp = ()
        self.cluster: Cluster = closed_site(self.root, environment).cluster

    async def site(self) -> Site:
        """An inventory that is wrong now is an error, not the one before."""
        stamp = tuple(_stamp(self.root / name) for name in FILES)
        if self._site is None or stamp != self._stamp:
            self._site = None
            closed = await asyncio.to_thread(closed_site, self.root, self._environment)
            self._site = await open_site(closed, lambda _: None)
            self._stamp, self.cluster = stamp, closed.cluster
        return self._site


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
