"""talhelper: talconfig.yaml, talsecret.yaml, talenv.yaml and patch files.

Read off talhelper 3 (pkg/config, pkg/generate, pkg/talos): the base of Talos, then its own
documents, then the patches of the node, then those of the cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.importing import facts
from talops.importing.base import POD_SUBNETS, SERVICE_SUBNETS, Base
from talops.importing.model import FoundCluster, FoundNode
from talops.importing.sources import talhelper_keys as known
from talops.importing.sources.schematics import id_of, only_extensions
from talops.importing.sources.talhelper_node import node_documents
from talops.importing.sources.talhelper_patches import Patcher
from talops.importing.sources.talosctl import address_of, found_cluster, short
from talops.importing.sources.variables import parse_variables, substitute
from talops.machineconfig.contract import Contract
from talops.machineconfig.images import tagged
from talops.machineconfig.secrets import bundle as bundles

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from talops.importing.sources.files import Parsed, Source
    from talops.machineconfig.secrets.bundle import Bundle

NAMES = ("talconfig.yaml", "talconfig.yml", "talconfig.sops.yaml")
_SECRETS = ("talsecret.sops.yaml", "talsecret.yaml", "talsecret.sops.yml", "talsecret.yml")
_VARIABLES = ("talenv.yaml", "talenv.sops.yaml", "talenv.yml", "talenv.sops.yml")
DEFAULT_VERSION = "v1.13.9"
_FACTORY = "factory.talos.dev"
_CONTAINERS = {"patches", "controlPlane", "worker", "nodes"}


def read(source: Source, _: Mapping[str, str], path: Path | None = None) -> FoundCluster:
    path = path or _config_file(source)
    variables = _variables(source, path.parent)
    text = substitute(source.text(path), variables, source.name_of(path))
    config = source.yaml(path, text)
    data = config.mapping()
    _list_unknown(source, config, data)
    bundle = _bundle(source, path.parent)
    version = _version(data, config)
    base = _base(data, config, bundle, version)
    patcher = Patcher(source, path.parent, variables, base.contract)
    nodes = [
        _node(config, data, base, patcher, place, version)
        for place in range(len(_entries(data, config)))
    ]
    registry = _registry(data)
    keys = {"image_factory_url": f"https://{registry}"} if registry != _FACTORY else {}
    return found_cluster(
        "talhelper", source, nodes, bundle, keys, (version, _kubernetes(data, config))
    )


def _config_file(source: Source) -> Path:
    if source.root.is_file():
        return source.root
    for name in NAMES:
        if source.exists(name):
            return source.root / name
    raise TalopsError(
        f"contains no {NAMES[0]}", where=str(source.root), hint="name the directory that has it"
    )


def _variables(source: Source, folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _VARIABLES:
        path = folder / name
        if not path.is_file():
            continue
        given = parse_variables(source.text(path))
        if source.is_sealed(path):
            source.secret_values.update(value for value in given.values() if value)
        found |= given
    return found


def _bundle(source: Source, folder: Path) -> Bundle:
    for name in _SECRETS:
        path = folder / name
        if path.is_file():
            return bundles.from_yaml(source.text(path), where=source.name_of(path))
    raise TalopsError(
        "the secrets of the cluster are missing: talsecret.yaml or talsecret.sops.yaml",
        where=str(folder),
        hint="without them the cluster is another one: restore the file from a backup",
    )


def _version(data: dict[str, Any], config: Parsed) -> str:
    text = str(data.get("talosVersion") or DEFAULT_VERSION)
    text = text if text.startswith("v") else f"v{text}"
    if Contract.for_version(text).splits_documents:
        raise config.error(
            ("talosVersion",),
            f"talhelper does not write configs of Talos {text}",
            "import what the nodes run: talops import cluster",
        )
    return text


def _kubernetes(data: dict[str, Any], config: Parsed) -> str:
    text = str(data.get("kubernetesVersion") or "")
    if not text:
        raise config.error(("kubernetesVersion",), "kubernetesVersion is missing")
    return text if text.startswith("v") else f"v{text}"


def _base(data: dict[str, Any], config: Parsed, bundle: Bundle, version: str) -> Base:
    for key in ("clusterName", "endpoint"):
        if not isinstance(data.get(key), str):
            raise config.error((key,), f"{key} is missing, or not a string")
    return Base(
        name=data["clusterName"],
        endpoint=data["endpoint"],
        contract=Contract.for_version(version),
        kubernetes_version=_kubernetes(data, config),
        bundle=bundle,
        sans=known.texts(data, "additionalApiServerCertSans", config),
        machine_sans=known.texts(data, "additionalMachineCertSans", config),
        dns_domain=str(data.get("domain") or "cluster.local"),
        pod_subnets=known.texts(data, "clusterPodNets", config) or POD_SUBNETS,
        service_subnets=known.texts(data, "clusterSvcNets", config) or SERVICE_SUBNETS,
        schedule_on_control_planes=bool(
            data.get("allowSchedulingOnMasters") or data.get("allowSchedulingOnControlPlanes")
        ),
    )


def _entries(data: dict[str, Any], config: Parsed) -> list[dict[str, Any]]:
    nodes = data.get("nodes")
    if not isinstance(nodes, list) or not nodes:
        raise config.error(("nodes",), "nodes is not a list of nodes")
    for place, node in enumerate(nodes):
        if not isinstance(node, dict):
            raise config.error(("nodes", place), "this node is not a mapping")
    return nodes


def _registry(data: dict[str, Any]) -> str:
    factory = data.get("imageFactory")
    given = factory.get("registryURL") if isinstance(factory, dict) else None
    return str(given or _FACTORY)


def _list_unknown(source: Source, config: Parsed, data: dict[str, Any]) -> None:
    source.leave_unknown(config, (), data, known.CLUSTER)
    for role in ("controlPlane", "worker"):
        source.leave_unknown(config, (role,), data.get(role), known.NODE_GROUP)
    for place, node in enumerate(_entries(data, config)):
        source.leave_unknown(config, ("nodes", place), node, known.NODE)
    factory = data.get("imageFactory")
    source.leave_unknown(config, ("imageFactory",), factory, known.IMAGE_FACTORY)
    if isinstance(factory, dict) and factory.get("installerURLTmpl"):
        source.leave(config, ("imageFactory", "installerURLTmpl"), "templates are not supported")


def _node(
    config: Parsed,
    data: dict[str, Any],
    base: Base,
    patcher: Patcher,
    place: int,
    version: str,
) -> FoundNode:
    loc = ("nodes", place)
    own = _entries(data, config)[place]
    name = own.get("hostname")
    if not isinstance(name, str) or not name:
        raise config.error(loc, "this node has no hostname")
    controller = bool(own.get("controlPlane"))
    group = data.get("controlPlane" if controller else "worker")
    node = known.merged(own, group if isinstance(group, dict) else {})
    image, keys = _installer(node, config, loc, data, version)
    base_documents = base.documents(
        controller=controller, installer=image, disk=str(node.get("installDisk") or "")
    )
    documents = node_documents(base_documents, data, node, config, loc, patcher)
    documents = patcher.apply(documents, node.get("patches"), config, (*loc, "patches"))
    documents = patcher.apply(documents, data.get("patches"), config, ("patches",))
    documents += patcher.manifests(node.get("extraManifests"), config, loc)
    address = str(own.get("ipAddress") or "").split(",")[0].strip() or _static(documents)
    if not address:
        raise config.error(loc, f"{name} has no ipAddress", "add ipAddress to this node")
    place_of = str(config.where((*loc, "ipAddress")))
    found = facts.image(facts.view_of(documents)).schematic
    keys = keys if keys and found and keys.pop("_id") == found else {}
    keys.pop("_id", None)
    return FoundNode(short(name), address_of(address, place_of), controller, tuple(documents), keys)


def _static(documents: list[dict[str, Any]]) -> str:
    nic = facts.nic(facts.view_of(documents), None)
    return str(nic.address.ip) if nic.address else ""


def _installer(
    node: dict[str, Any],
    config: Parsed,
    loc: tuple[str | int, ...],
    data: dict[str, Any],
    version: str,
) -> tuple[str, dict[str, Any]]:
    """The image, and the keys that describe it better than an id of a schematic."""
    if url := node.get("talosImageURL"):
        return f"{url}:{version}", {}
    listed = node.get("machineSpec")
    spec = listed if isinstance(listed, dict) else {}
    given = node.get("schematic")
    identifier = id_of(given, str(config.where((*loc, "schematic"))))
    mode, secure = spec.get("mode") or "metal", "-secureboot" if spec.get("secureboot") else ""
    image = tagged(f"{_registry(data)}/{mode}-installer{secure}/{identifier}", version)
    names = only_extensions(given)
    if names is None:
        return image, {}
    return image, {"extensions": names, "schematic_id": None, "_id": identifier}
