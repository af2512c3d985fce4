"""For talhelper: talconfig.yaml, talsecret.yaml and patches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.importing import facts
from talops.importing.base import Base
from talops.importing.exports.patching import patches_on
from talops.machineconfig import yamltext
from talops.machineconfig.contract import Contract
from talops.machineconfig.documents.document import document
from talops.machineconfig.patches.reading import apply_patches, make_patch

if TYPE_CHECKING:
    from talops.importing.exports.model import Exported
    from talops.importing.model import Document
    from talops.inventory.model import Node

_ROLES = {"controlPlane": "control-plane", "worker": "worker"}


def files(exported: Exported) -> dict[str, str]:
    cluster = exported.cluster
    contract = Contract.for_version(cluster.talos_version)
    if contract.splits_documents:
        raise TalopsError(
            f"talhelper does not write configs of Talos {cluster.talos_version}",
            where="talos_version",
            hint="talops export talosctl DIRECTORY",
        )
    first = facts.view_of(exported.configs[cluster.control_planes[0].name])
    base = Base(
        name=cluster.name,
        endpoint=facts.endpoint(first) or cluster.endpoint,
        contract=contract,
        kubernetes_version=cluster.kubernetes_version,
        bundle=exported.bundle,
    )
    bases = {node.name: _base(exported, node, base) for node in cluster.nodes}
    found = patches_on(exported, bases, contract)
    written = {
        f"patches/{owner}-{name}": _escaped(text)
        for owner, texts in found.items()
        for name, text in texts.items()
    }
    data: dict[str, Any] = {
        "clusterName": cluster.name,
        "talosVersion": cluster.talos_version,
        "kubernetesVersion": cluster.kubernetes_version,
        "endpoint": base.endpoint,
        "nodes": [_entry(exported, node, found.get(node.name, {})) for node in cluster.nodes],
    }
    for key, role in _ROLES.items():
        # talhelper applies patches of the cluster last, so these are patches of both roles.
        if listed := [*_named("all", found["all"]), *_named(role, found[role])]:
            data[key] = {"patches": listed}
    return {
        "talconfig.yaml": yamltext.dump(data),
        "talsecret.yaml": exported.bundle.to_yaml(),
        **written,
    }


def _escaped(text: str) -> str:
    """Talhelper renders templates, then replaces variables, in every patch file."""
    return text.replace("{{", '{{ "{{" }}').replace("$", "$$")


def _named(owner: str, texts: dict[str, str]) -> list[str]:
    return [f"@./patches/{owner}-{name}" for name in texts]


def _image(exported: Exported, node: Node) -> str:
    """Without its tag, which talhelper adds."""
    view = facts.view_of(exported.configs[node.name])
    image = view.either("machine.install.image", "UnattendedInstallConfig", "installer.image")
    name, _, tag = str(image or "").rpartition(":")
    return name if name and "/" not in tag else "ghcr.io/siderolabs/installer"


def _base(exported: Exported, node: Node, base: Base) -> list[Document]:
    image = f"{_image(exported, node)}:{exported.cluster.talos_version}"
    made = base.documents(controller=node.controller, installer=image, disk=_disk(exported, node))
    name = make_patch([document("HostnameConfig", auto="off", hostname=node.name)], where="host")
    return apply_patches(made, [name], base.contract)


def _disk(exported: Exported, node: Node) -> str:
    given = facts.disk(facts.view_of(exported.configs[node.name]))
    return given if isinstance(given, str) and given.startswith("/") else "/dev/sda"


def _entry(exported: Exported, node: Node, texts: dict[str, str]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "hostname": node.name,
        "ipAddress": str(node.address),
        "controlPlane": node.controller,
        "installDisk": _disk(exported, node),
        "talosImageURL": _image(exported, node),
    }
    listed = _named(node.name, texts)
    return {**entry, **({"patches": listed} if listed else {})}
