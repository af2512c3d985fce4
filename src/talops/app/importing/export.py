"""Export a cluster to the files of another tool, and read them back as the proof."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import ConflictError
from talops.files import PRIVATE, write_atomic
from talops.importing.comparison import Difference, of_configs, summary
from talops.importing.exporting import export_files
from talops.importing.exports.model import Exported
from talops.importing.reading import read_source
from talops.importing.sources.files import Source
from talops.machineconfig.build import build_configs
from talops.machineconfig.secrets import bundle as bundles
from talops.site.patch_texts import patch_reader
from talops.site.secrets_file import require_secrets

if TYPE_CHECKING:
    from pathlib import Path

    from talops.app.opening import Keys
    from talops.inventory.model import Cluster


@dataclass(frozen=True)
class ExportDone:
    written: tuple[str, ...]
    differences: tuple[Difference, ...]

    @property
    def summary(self) -> str:
        return summary(self.differences)


def refuse_used(target: Path) -> None:
    """Files of another cluster must not be mixed with these."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ConflictError(
            "is not an empty directory", where=str(target), hint="name a new directory"
        )


async def export_cluster(
    tool: str, cluster: Cluster, root: Path, keys: Keys, target: Path
) -> ExportDone:
    """The files contain the secrets of the cluster: only this user can read them."""
    refuse_used(target)
    stored = require_secrets(root)
    text = (
        await keys.sops.decrypt(stored.path)
        if stored.sealed
        else await asyncio.to_thread(stored.path.read_text, "utf-8")
    )
    bundle = bundles.from_yaml(text, where=str(stored.path))
    configs = build_configs(cluster, bundle, await patch_reader(cluster, root, keys.sops))
    documents = {name: config.documents for name, config in configs.items()}
    files = export_files(tool, Exported(cluster, bundle, documents))
    for name, content in files.items():
        write_atomic(target / name, content, mode=PRIVATE)
    addresses = {node.name: str(node.address) for node in cluster.nodes}
    again = await asyncio.to_thread(read_source, tool, Source(target), addresses)
    differences = [
        difference
        for node in again.nodes
        for difference in of_configs(
            node.name, documents[node.name], node.documents, cluster.talos_version
        )
    ]
    return ExportDone(tuple(files), tuple(differences))
