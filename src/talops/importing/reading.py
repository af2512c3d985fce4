"""The importer of each tool, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.importing.sources import cluster_template, talhelper, talosctl, topf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from talops.importing.model import FoundCluster
    from talops.importing.sources.files import Source

    Reader = Callable[[Source, Mapping[str, str]], FoundCluster]

READERS: dict[str, Reader] = {
    "talhelper": talhelper.read,
    "topf": topf.read,
    "cluster-template": cluster_template.read,
    "talosctl": talosctl.read,
}


def read_source(tool: str, source: Source, addresses: Mapping[str, str]) -> FoundCluster:
    if not source.root.exists():
        raise TalopsError("does not exist", where=str(source.root))
    try:
        return READERS[tool](source, addresses)
    except (AttributeError, TypeError, ValueError, LookupError) as error:
        raise TalopsError(
            f"a value does not have the type that {tool} requires: {error}"[:200],
            where=str(source.root),
            hint=f"check the files with {tool} itself",
        ) from error
