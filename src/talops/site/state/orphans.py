"""Layers that the inventory does not have any more, although their states still list resources.

Without their files, neither OpenTofu nor talops would know these VMs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import ConflictError
from talops.generated import Action
from talops.layer import FOLDER, Layer
from talops.plural import count
from talops.render.layers import HYPERVISORS, hypervisors, layers
from talops.site.state.backends import backend_of
from talops.tofu.localstate import resource_count, resources_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.generated import Change
    from talops.inventory.model import Cluster
    from talops.site.site import ClosedSite


@dataclass(frozen=True)
class OrphanedLayer:
    """`resources`: how many its state lists; None if they are encrypted."""

    name: str
    resources: int | None


async def orphaned_layers(site: ClosedSite, planned: Iterable[Change]) -> tuple[OrphanedLayer, ...]:
    """The layers whose files would be removed, if their states are not empty."""
    found = []
    for layer in _dropped(site.cluster, planned):
        resources = await _resources(site, layer.at(site.root))
        if resources is None or resources:
            found.append(OrphanedLayer(layer.name, resources))
    return tuple(found)


def refuse_orphans(found: Iterable[OrphanedLayer]) -> None:
    """Raise if the files of a layer with resources would be removed."""
    for layer in found:
        if layer.resources is None:
            raise ConflictError(
                "this layer is not in the inventory, but it has an encrypted state",
                where=f"{FOLDER}/{layer.name}",
                hint=f"talops infra state-list --layer {layer.name}; if it lists nothing, remove "
                "the state",
            )
        raise ConflictError(
            "this layer is not in the inventory, but its state has "
            f"{count(layer.resources, 'resource')}",
            where=f"{FOLDER}/{layer.name}",
            hint=f"restore the entry, run: talops infra destroy --layer {layer.name}, then remove "
            "the entry",
        )


def _dropped(cluster: Cluster, planned: Iterable[Change]) -> list[Layer]:
    known = {layer.directory for layer in layers(cluster)}
    folders = {
        str(Path(change.path).parent) for change in planned if change.action is Action.REMOVE
    }
    names = [folder.removeprefix(f"{FOLDER}/") for folder in sorted(folders - known)]
    return [_layer(cluster, name) for name in names if name[:2].isdigit()]


def _layer(cluster: Cluster, name: str) -> Layer:
    return hypervisors(cluster) if name == HYPERVISORS else Layer(name)


async def _resources(site: ClosedSite, layer: Layer) -> int | None:
    """A local file counts also if the states were moved since."""
    if found := resource_count(layer.path / "terraform.tfstate"):
        return found
    if site.cluster.state.kind == "local":
        return found
    backend = backend_of(site)
    try:
        data = await backend.read(layer.state)
    finally:
        await backend.close()
    return resources_in(data) if data else 0
