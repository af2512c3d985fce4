"""The release of each chart or manifest: version, address and expected hash."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.inventory.model import Cluster


@dataclass(frozen=True)
class Source:
    """One file to fetch; a chart is rendered by helm, anything else is applied unchanged."""

    name: str
    version: str
    url: str
    namespace: str
    sha256: str
    ca_file: str | None = None

    @property
    def is_chart(self) -> bool:
        return self.url.endswith(".tgz")

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"


@functools.cache
def _entries() -> dict[str, dict[str, Any]]:
    text = files(__package__).joinpath("catalog.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def names() -> tuple[str, ...]:
    return tuple(_entries())


def known(name: str) -> Source:
    """The entry in the catalog."""
    if name not in _entries():
        raise TalopsError(f"unknown release {name}", hint=f"choose from: {', '.join(names())}")
    entry = _entries()[name]
    url = entry["url"].format(version=entry["version"])
    return Source(name, entry["version"], url, entry["namespace"], entry["sha256"])


def source(cluster: Cluster, name: str) -> Source:
    """The release to install: the one in the inventory, otherwise the pinned one."""
    found = known(name)
    own = cluster.releases.get(name)
    if own:
        return Source(name, own.version, own.url, found.namespace, own.sha256, own.ca_file)
    return found
