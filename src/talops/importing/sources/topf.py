"""topf: topf.yaml, its secrets, and the patches in all/, control-plane/, worker/ and node/HOST/.

Read off topf (pkg/config, internal/topf): the base of Talos, the installer image, then the patches
of all nodes, of the role and of the node, each folder in lexical order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.importing import facts
from talops.importing.base import Base
from talops.importing.model import FoundNode
from talops.importing.sources.gotemplates import render
from talops.importing.sources.schematics import id_of, only_extensions
from talops.importing.sources.talosctl import address_of, found_cluster, short
from talops.inventory.schematics import EMPTY
from talops.machineconfig import yamltext
from talops.machineconfig.contract import NEWEST_UNPINNED, Contract
from talops.machineconfig.images import tagged
from talops.machineconfig.patches.reading import apply_patches, make_patch
from talops.machineconfig.secrets import bundle as bundles

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from talops.importing.model import FoundCluster
    from talops.importing.sources.files import Parsed, Source
    from talops.machineconfig.request import Patch
    from talops.machineconfig.secrets.bundle import Bundle

NAMES = ("topf.yaml", "topf.yml")
DEFAULT_VERSION = "v1.13.7"
_FACTORY = "factory.talos.dev"
_ROLES = {"control-plane": True, "worker": False}
_CLUSTER = frozenset(
    {
        *("clusterName", "clusterEndpoint", "kubernetesVersion", "talosVersion", "schematicId"),
        *("factory", "platform", "secureboot", "secretsProvider", "nodesProvider", "patchesDir"),
        *("configDir", "secretsPath", "nodes", "data"),
    }
)
_NODE = frozenset(
    {
        *("host", "ip", "role", "data", "talosVersion", "schematicId", "factory", "platform"),
        "secureboot",
    }
)
_PATCH_NAME = re.compile(r"\.ya?ml(\.tpl)?")
_REFERENCE = re.compile(r"\bref\+[a-z0-9]+://")


@dataclass(frozen=True)
class _Topf:
    source: Source
    config: Parsed
    data: dict[str, Any]
    folder: Path
    patches: Path
    base: Base
    bundle: Bundle = field(repr=False)


def read(
    source: Source,
    addresses: Mapping[str, str],
    path: Path | None = None,
    keys: Mapping[str, Any] | None = None,
) -> FoundCluster:
    path = path or config_file(source)
    config = source.yaml(path)
    data = config.mapping()
    source.leave_unknown(config, (), data, _CLUSTER)
    topf = _opened(source, path, config, data)
    nodes = [_node(topf, place, addresses) for place in range(len(_entries(config, data)))]
    factory = data.get("factory") or _FACTORY
    own = {"image_factory_url": f"https://{factory}"} if factory != _FACTORY else {}
    versions = (_version(data, config), _prefixed(str(data["kubernetesVersion"])))
    return found_cluster("topf", source, nodes, topf.bundle, {**own, **(keys or {})}, versions)


def config_file(source: Source) -> Path:
    if source.root.is_file():
        return source.root
    for name in NAMES:
        if source.exists(name):
            return source.root / name
    raise TalopsError(
        f"contains no {NAMES[0]}", where=str(source.root), hint="name the directory that has it"
    )


def _opened(source: Source, path: Path, config: Parsed, data: dict[str, Any]) -> _Topf:
    for key in ("clusterName", "clusterEndpoint", "kubernetesVersion"):
        if not isinstance(data.get(key), str) or not data[key]:
            raise config.error((key,), f"{key} is missing, or not a string")
    for key, other in (("nodesProvider", "nodes"), ("secretsProvider", "secretsPath")):
        if data.get(key):
            raise config.error(
                (key,), f"{key} is a program, which an import does not start", f"use {other}"
            )
    folder = path.parent
    secrets = folder / str(data.get("secretsPath") or "secrets.yaml")
    if not secrets.is_file():
        raise TalopsError(
            "the secrets of the cluster are missing",
            where=source.name_of(secrets),
            hint="without them the cluster is another one: restore the file from a backup",
        )
    bundle = bundles.from_yaml(source.text(secrets), where=source.name_of(secrets))
    # topf has the library of Talos 1.13, which writes configs up to its own contract.
    newest = Contract.for_version(_version(data, config))
    base = Base(
        name=data["clusterName"],
        endpoint=data["clusterEndpoint"],
        contract=min(newest, NEWEST_UNPINNED, key=lambda contract: contract.numbers),
        kubernetes_version=_prefixed(data["kubernetesVersion"]),
        bundle=bundle,
    )
    patches = (folder / str(data.get("patchesDir") or ".")).resolve()
    return _Topf(source, config, data, folder, patches, base, bundle)


def _version(data: dict[str, Any], config: Parsed) -> str:
    text = data.get("talosVersion") or DEFAULT_VERSION
    if not isinstance(text, str):
        raise config.error(("talosVersion",), "talosVersion is not a string", "quote it")
    return _prefixed(text)


def _prefixed(text: str) -> str:
    return text if text.startswith("v") else f"v{text}"


def _entries(config: Parsed, data: dict[str, Any]) -> list[dict[str, Any]]:
    nodes = data.get("nodes")
    if not isinstance(nodes, list) or not nodes:
        raise config.error(("nodes",), "nodes is not a list of nodes")
    for place, node in enumerate(nodes):
        if not isinstance(node, dict):
            raise config.error(("nodes", place), "this node is not a mapping")
    return nodes


def _node(topf: _Topf, place: int, addresses: Mapping[str, str]) -> FoundNode:
    loc: tuple[str | int, ...] = ("nodes", place)
    node = _entries(topf.config, topf.data)[place]
    topf.source.leave_unknown(topf.config, loc, node, _NODE)
    host, role = node.get("host"), node.get("role")
    if not isinstance(host, str) or not host or role not in _ROLES:
        what = "this node has no host" if not host else f"{role!r} is not a role"
        raise topf.config.error(loc, what, "role is control-plane or worker")
    context = _context(topf, node)
    identifier, extensions = _schematic(topf, node, context, loc)
    context["SchematicID"] = identifier
    image = installer(topf.data, node, identifier)
    documents = topf.base.documents(controller=_ROLES[role], installer=image)
    install = make_patch([{"machine": {"install": {"image": image}}}], where="installer")
    patches = [install, *_patches(topf, node, context)]
    documents = apply_patches(documents, patches, topf.base.contract)
    where = str(topf.config.where(loc))
    text = str(node.get("ip") or addresses.get(host) or "") or _static(documents)
    if not text:
        raise TalopsError(
            f"{host} has no ip", where=where, hint=f"add it: --address {host}=10.0.0.11"
        )
    same = facts.image(facts.view_of(documents)).schematic == identifier
    keys = {"extensions": extensions, "schematic_id": None} if extensions and same else {}
    name, address = short(host), address_of(text, where)
    return FoundNode(name, address, _ROLES[role], tuple(documents), keys)


def _static(documents: list[dict[str, Any]]) -> str:
    nic = facts.nic(facts.view_of(documents), None)
    return str(nic.address.ip) if nic.address else ""


def _context(topf: _Topf, node: dict[str, Any]) -> dict[str, Any]:
    """The names that templates use."""
    data = topf.data
    return {
        "ClusterName": data["clusterName"],
        "ClusterEndpoint": data["clusterEndpoint"],
        "KubernetesVersion": data["kubernetesVersion"],
        "TalosVersion": data.get("talosVersion") or "",
        "SchematicID": "",
        "Data": data.get("data") or {},
        "Node": {
            "Host": node["host"],
            "IP": node.get("ip"),
            "Role": node["role"],
            "Data": node.get("data") or {},
            "TalosVersion": node.get("talosVersion") or "",
            "SchematicID": node.get("schematicId") or "",
        },
    }


def _schematic(
    topf: _Topf, node: dict[str, Any], context: dict[str, Any], loc: tuple[str | int, ...]
) -> tuple[str, list[str] | None]:
    given = str(node.get("schematicId") or topf.data.get("schematicId") or EMPTY)
    if not given.startswith("@"):
        return given, None
    path = topf.folder / given.removeprefix("@")
    if not path.resolve().is_relative_to(topf.source.root.resolve()):
        raise topf.config.error(loc, f"{given} is outside of the source")
    name = topf.source.name_of(path)
    text = topf.source.text(path)
    text = render(text, context, name) if path.name.endswith(".tpl") else text
    content = yamltext.load(text, where=name)
    return id_of(content, name), only_extensions(content)


def installer(data: dict[str, Any], node: dict[str, Any], identifier: str) -> str:
    def of(key: str, default: str) -> str:
        return str(node.get(key) or data.get(key) or default)

    secure = "-secureboot" if node.get("secureboot") or data.get("secureboot") else ""
    kind = f"{of('platform', 'metal')}-installer{secure}"
    version = _prefixed(of("talosVersion", DEFAULT_VERSION))
    return tagged(f"{of('factory', _FACTORY)}/{kind}/{identifier}", version)


def _patches(topf: _Topf, node: dict[str, Any], context: dict[str, Any]) -> Iterator[Patch]:
    for folder in ("all", node["role"], f"node/{node['host']}"):
        base = topf.patches / folder
        if not base.is_dir() or not base.resolve().is_relative_to(topf.source.root.resolve()):
            continue
        files = [path for path in base.rglob("*") if path.is_file()]
        for path in sorted(files, key=lambda path: path.parts):
            if _PATCH_NAME.search(path.name):
                yield _patch(topf, path, context)


def _patch(topf: _Topf, path: Path, context: dict[str, Any]) -> Patch:
    source, name = topf.source, topf.source.name_of(path)
    text = source.text(path)
    if found := _REFERENCE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise TalopsError(
            f"{found[0]}… names a value in another program, which an import does not ask",
            where=f"{name}:{line}",
            hint="render the configs with topf, then: talops import talosctl DIRECTORY",
        )
    if path.name.endswith(".tpl"):
        text = render(text, context, name)
    elif source.is_sealed(path):
        values = (line.partition(":")[2].strip().strip("'\"") for line in text.splitlines())
        source.secret_values.update(value for value in values if len(value) > 3)  # noqa: PLR2004
    documents = [document for document in yamltext.load_all(text, where=name) if document]
    return make_patch(documents, where=name)
