"""`talosctl gen config`: machine configs as files, one per node or one per role."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.importing import facts
from talops.importing.model import FoundCluster, FoundNode
from talops.machineconfig import yamltext
from talops.machineconfig.patches.identity import identify
from talops.machineconfig.secrets import bundle as bundles
from talops.machineconfig.shared_secrets import other_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from talops.importing.model import Document
    from talops.importing.sources.files import Source
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.machineconfig.validation.view import View

NAMES = ("*.yaml", "*.yml")
_SECRETS = ("secrets.yaml", "talsecret.yaml", "talsecret.sops.yaml")
_ROLES = {"controlplane", "worker"}


def read(source: Source, addresses: Mapping[str, str] | None = None) -> FoundCluster:
    """`addresses`: of nodes whose configs do not have them, by the name of their file."""
    given = dict(addresses or {})
    configs = dict(_configs(source))
    if not configs:
        raise TalopsError(
            "contains no machine config",
            where=str(source.root),
            hint="name the directory with controlplane.yaml and worker.yaml",
        )
    nodes = [_node(source, path, documents, given) for path, documents in configs.items()]
    bundle = bundle_of(source, list(configs.values()))
    return found_cluster("talosctl", source, nodes, bundle)


def found_cluster(
    tool: str,
    source: Source,
    nodes: Sequence[FoundNode],
    bundle: Bundle,
    keys: Mapping[str, Any] | None = None,
    versions: tuple[str | None, str | None] = (None, None),
) -> FoundCluster:
    """`versions`: of Talos and Kubernetes; without them, those of the configs."""
    twice = {node.name for node in nodes if sum(o.name == node.name for o in nodes) > 1}
    if twice:
        raise TalopsError(f"several nodes have the name {min(twice)}", where=str(source.root))
    planes = [node for node in nodes if node.controller]
    if not planes:
        raise TalopsError("the source has no control plane", where=str(source.root))
    view = facts.view_of(planes[0].documents)
    talos = versions[0] or facts.image(view).version or _tag(view)
    kubernetes = versions[1] or facts.versions(view)
    if talos is None or kubernetes is None:
        lacking = "talos_version" if talos is None else "kubernetes_version"
        raise TalopsError(
            f"the configs do not say the {lacking}",
            where=str(source.root),
            hint=f"add it: --set {lacking}=v1.2.3",
        )
    return FoundCluster(
        source=tool,
        name=facts.cluster_name(view) or "cluster",
        talos_version=talos,
        kubernetes_version=kubernetes,
        bundle=bundle,
        nodes=tuple(nodes),
        keys=keys or {},
        left=tuple(source.left),
        secret_values=frozenset(source.secret_values),
    )


def _tag(view: View) -> str | None:
    """Of an installer that is not one of a factory, like ghcr.io/siderolabs/installer:v1.13.9."""
    image = view.either("machine.install.image", "UnattendedInstallConfig", "installer.image")
    tag = str(image or "").rpartition(":")[2].partition("@")[0]
    return tag if tag.startswith("v") else None


def _configs(source: Source) -> list[tuple[Path, tuple[Document, ...]]]:
    paths = sorted({p for pattern in NAMES for p in source.root.glob(pattern) if p.is_file()})
    if source.root.is_file():
        paths = [source.root]
    found = []
    for path in paths:
        documents = documents_of(source, path)
        if any("machine" in document for document in documents):
            found.append((path, documents))
    return found


def documents_of(source: Source, path: Path) -> tuple[Document, ...]:
    name = source.name_of(path)
    loaded = yamltext.load_all(source.text(path), where=name)
    return tuple(document for document in loaded if isinstance(document, dict))


def _node(
    source: Source, path: Path, documents: tuple[Document, ...], given: Mapping[str, str]
) -> FoundNode:
    view = facts.view_of(documents)
    stem = path.name.partition(".")[0]
    name = facts.hostname(view) or stem
    shown = source.name_of(path)
    if not (view.control_plane or view.worker):
        raise TalopsError("machine.type is neither controlplane nor worker", where=shown)
    text = given.get(name) or given.get(stem)
    if text is None:
        nic = facts.nic(view, None)
        text = str(nic.address.ip) if nic.address else None
    if text is None:
        raise TalopsError(
            "the config does not say the address of its node",
            where=shown,
            hint=f"add it: --address {stem}=10.0.0.11; a role with several nodes needs one file "
            "per node",
        )
    return FoundNode(short(name), address_of(text, shown), view.control_plane, documents)


def short(name: str) -> str:
    """The first label of a host name, as nodes.yaml names nodes."""
    return name.split(".", maxsplit=1)[0].lower()


def address_of(text: str, where: str) -> IPv4Address:
    try:
        return IPv4Address(text.strip().partition("/")[0])
    except ValueError:
        raise TalopsError(
            f"{text!r} is not an IPv4 address", where=where, hint="nodes must have IPv4 addresses"
        ) from None


def bundle_of(source: Source, configs: Sequence[Sequence[Document]]) -> Bundle:
    """From a control plane's config; a secrets file next to it must be that of the cluster."""
    planes = [d for d in configs if facts.view_of(d).control_plane]
    if not planes:
        raise TalopsError("the source has no config of a control plane", where=str(source.root))
    bundle = bundles.from_machine_config(list(planes[0]), where=str(source.root))
    for documents in configs:
        same_secrets(planes[0], documents, str(source.root))
    for name in _SECRETS:
        if source.root.is_dir() and source.exists(name):
            beside = bundles.from_yaml(source.text(source.root / name), where=name)
            if replace(beside, contract=None) != replace(bundle, contract=None):
                raise foreign(name)
    return bundle


def same_secrets(first: Sequence[Document], other: Sequence[Document], where: str) -> None:
    """Configs of two clusters in one directory are a mistake."""
    wanted = _without_keys(first) if facts.view_of(other).worker else first
    different = other_secrets(list(other), list(wanted))
    if different:
        raise TalopsError(
            f"the configs are those of several clusters: another {different[0].name}",
            where=where,
            hint="keep the configs of one cluster in this directory",
        )


def _without_keys(documents: Sequence[Document]) -> list[Document]:
    return [document for document in documents if identify(document)]


def foreign(name: str) -> TalopsError:
    return TalopsError(
        "these secrets are not those of the machine configs: another cluster, or new ones",
        where=name,
        hint="use the secrets file that the configs were made with",
    )
