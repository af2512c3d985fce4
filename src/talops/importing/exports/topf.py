"""For topf: topf.yaml, secrets.yaml and patches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.importing import facts
from talops.importing.base import Base
from talops.importing.exports.patching import patches_on
from talops.importing.sources.topf import installer
from talops.machineconfig import yamltext
from talops.machineconfig.contract import NEWEST_UNPINNED, Contract
from talops.machineconfig.patches.reading import apply_patches, make_patch

if TYPE_CHECKING:
    from talops.importing.exports.model import Exported
    from talops.importing.model import Document
    from talops.inventory.model import Node


def files(exported: Exported) -> dict[str, str]:
    cluster = exported.cluster
    newest = Contract.for_version(cluster.talos_version)
    base = Base(
        name=cluster.name,
        endpoint=_endpoint(exported),
        contract=min(newest, NEWEST_UNPINNED, key=lambda contract: contract.numbers),
        kubernetes_version=cluster.kubernetes_version,
        bundle=exported.bundle,
    )
    data: dict[str, Any] = {
        "clusterName": cluster.name,
        "clusterEndpoint": base.endpoint,
        "kubernetesVersion": cluster.kubernetes_version,
        "talosVersion": cluster.talos_version,
        "nodes": [_entry(exported, node) for node in cluster.nodes],
    }
    bases = {}
    for node, entry in zip(cluster.nodes, data["nodes"], strict=True):
        image = installer(data, entry, entry["schematicId"])
        made = base.documents(controller=node.controller, installer=image)
        bases[node.name] = _with_image(made, image, base.contract)
    found = patches_on(exported, bases, base.contract)
    folders = {name: f"node/{name}" for name in cluster.node_names}
    patches = {
        f"{folders.get(owner, owner)}/{name}": text
        for owner, texts in found.items()
        for name, text in texts.items()
    }
    return {"topf.yaml": yamltext.dump(data), "secrets.yaml": exported.bundle.to_yaml(), **patches}


def _with_image(documents: list[Document], image: str, contract: Contract) -> list[Document]:
    patch = make_patch([{"machine": {"install": {"image": image}}}], where="installer")
    return apply_patches(documents, [patch], contract)


def _endpoint(exported: Exported) -> str:
    first = exported.cluster.control_planes[0]
    found = facts.endpoint(facts.view_of(exported.configs[first.name]))
    return found or exported.cluster.endpoint


def _entry(exported: Exported, node: Node) -> dict[str, Any]:
    image = facts.image(facts.view_of(exported.configs[node.name]))
    entry: dict[str, Any] = {
        "host": node.name,
        "ip": str(node.address),
        "role": "control-plane" if node.controller else "worker",
        "schematicId": image.schematic or node.image.schematic,
    }
    if image.platform and image.platform != "metal":
        entry["platform"] = image.platform
    if image.factory and image.factory != "factory.talos.dev":
        entry["factory"] = image.factory
    return {**entry, **({"secureboot": True} if image.secureboot else {})}
