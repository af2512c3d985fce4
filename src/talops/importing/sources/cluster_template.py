"""cluster-template and its descendants: the rendered talos/ directory, and the keys beside it.

The template itself is not rendered again: what it wrote to talos/ is what the nodes run. From
cluster.toml, or cluster.yaml and nodes.yaml, come the keys that machine configs do not contain.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.importing.model import Left
from talops.importing.sources import talhelper, topf
from talops.inventory.files import CREDENTIALS, ClusterFile, NodeFile
from talops.inventory.keys.foreign import ignored, patterns_of
from talops.problems import Position

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from talops.importing.model import FoundCluster
    from talops.importing.sources.files import Source

_FOLDERS = ("talos", "kubernetes/bootstrap/talos", "bootstrap/talos", ".")
# What machine configs say themselves.
_FROM_CONFIGS = frozenset(
    {
        *("cluster_name", "talos_version", "kubernetes_version", "talos_contract", "node_cidr"),
        *("cluster_api_addr", "cluster_api_tls_sans", "cluster_pod_cidr", "cluster_svc_cidr"),
        *("node_default_gateway", "node_dns_servers", "node_ntp_servers", "node_vlan_tag"),
        *("name", "address", "controller", "patches", "extensions", "schematic_id", "labels"),
        *("taints", "kernel_modules", "encrypt_disk", "secureboot", "mtu", "disk"),
        *("controller_patches", "worker_patches", "x_ignore", *CREDENTIALS),
    }
)
# Tables and keys of cluster.toml; the first are about machine configs or Git.
_TOML: dict[str, frozenset[str] | None] = {
    "network": frozenset(
        {"node_cidr", "dns_servers", "ntp_servers", "default_gateway", "vlan_tag"}
    ),
    "kubernetes": frozenset({"pod_cidr", "svc_cidr", "coredns_addr", "api"}),
    "kubernetes.api": frozenset({"addr", "tls_sans"}),
    "repository": frozenset({"url", "branch", "webhook_provider", "known_hosts"}),
    "talos": frozenset({"schematic_id"}),
    "nodes": frozenset(
        {
            *("name", "address", "controller", "disk", "mac_addr", "schematic_id", "mtu"),
            *("secureboot", "encrypt_disk", "kernel_modules"),
        }
    ),
    # About Kubernetes; the repository applies them itself.
    **dict.fromkeys(("gateways", "domain", "dns", "ingress", "cilium", "cilium.bgp")),
}
_ON_GITHUB = re.compile(r"(?:https://|ssh://git@)github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")
_KEY = re.compile(r"\s*([A-Za-z_][\w-]*)\s*=")
_TABLE = re.compile(r"\s*\[\[?\s*([\w.-]+)\s*\]\]?")


def read(source: Source, addresses: Mapping[str, str]) -> FoundCluster:
    keys, own, notes = _beside(source)
    found = _rendered(source, addresses)
    nodes = [
        replace(node, keys={**_of_node(own.get(node.name, {})), **node.keys})
        for node in found.nodes
    ]
    return replace(
        found,
        source="cluster-template",
        nodes=tuple(nodes),
        keys={**found.keys, **keys},
        left=tuple(source.left),
        notes=(*found.notes, *notes),
    )


def _rendered(source: Source, addresses: Mapping[str, str]) -> FoundCluster:
    for folder in _FOLDERS:
        base = source.root / folder
        for name in topf.NAMES:
            if (base / name).is_file():
                return topf.read(source, addresses, base / name)
        for name in talhelper.NAMES:
            if (base / name).is_file():
                return talhelper.read(source, addresses, base / name)
    raise TalopsError(
        "contains neither talos/topf.yaml nor talos/talconfig.yaml",
        where=str(source.root),
        hint="render the template first, with its own command (just configure, task configure)",
    )


def _beside(source: Source) -> tuple[dict[str, Any], dict[str, dict[str, Any]], list[str]]:
    if source.exists("cluster.toml"):
        return _of_toml(source, source.root / "cluster.toml")
    keys: dict[str, Any] = {}
    own: dict[str, dict[str, Any]] = {}
    notes: list[str] = []
    if source.exists("cluster.yaml"):
        keys, notes = _of_cluster_yaml(source)
    if source.exists("nodes.yaml"):
        own = _of_nodes_yaml(source)
    return keys, own, notes


def _of_cluster_yaml(source: Source) -> tuple[dict[str, Any], list[str]]:
    parsed = source.yaml(source.root / "cluster.yaml")
    data = parsed.mapping()
    patterns = patterns_of(data)
    known = ClusterFile.model_fields
    foreign = [key for key in data if key not in known and ignored(key, patterns)]
    source.leave_unknown(parsed, (), data, {*known, *foreign})
    for key in CREDENTIALS:
        if data.get(key):
            source.leave(parsed, (key,), f"a secret: talops secrets set {key}")
    keys = {key: value for key, value in data.items() if key in known and value not in (None, "")}
    notes = [f"keys for other programs stay in their repository: {len(foreign)}"] if foreign else []
    return {key: value for key, value in keys.items() if key not in _FROM_CONFIGS}, notes


def _of_nodes_yaml(source: Source) -> dict[str, dict[str, Any]]:
    parsed = source.yaml(source.root / "nodes.yaml")
    entries = parsed.mapping().get("nodes")
    found = {}
    for place, entry in enumerate(entries if isinstance(entries, list) else []):
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            source.leave_unknown(parsed, ("nodes", place), entry, NodeFile.model_fields)
            found[entry["name"]] = entry
    return found


def _of_node(entry: dict[str, Any]) -> dict[str, Any]:
    known = NodeFile.model_fields
    return {
        key: value
        for key, value in entry.items()
        if key in known and key not in _FROM_CONFIGS and value not in (None, "", [])
    }


def _of_toml(
    source: Source, path: Path
) -> tuple[dict[str, Any], dict[str, dict[str, Any]], list[str]]:
    name = source.name_of(path)
    text = source.text(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TalopsError(f"not valid TOML: {error}", where=name) from None
    source.left += _unknown_in_toml(name, text)
    nodes = data.get("nodes")
    listed = nodes if isinstance(nodes, list) else []
    own = {str(entry.get("name")): entry for entry in listed if isinstance(entry, dict)}
    return dict(_of_repository(data.get("repository"))), own, []


def _of_repository(given: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(given, dict) or not isinstance(given.get("url"), str):
        return
    url = given["url"]
    if found := _ON_GITHUB.fullmatch(url):
        yield "repository_name", found[1]
        yield "repository_visibility", "private" if url.startswith("ssh://") else "public"
    elif parts := re.search(r"([\w.-]+/[\w.-]+?)(?:\.git)?/?$", url):
        yield "repository_name", parts[1]
        yield "gitops", {"url": url}
    if given.get("branch"):
        yield "repository_branch", str(given["branch"])


def _unknown_in_toml(name: str, text: str) -> Iterator[Left]:
    """By line: the parser of Python does not keep positions."""
    table, inside = "", False
    for number, line in enumerate(text.splitlines(), 1):
        if line.count('"""') % 2 or line.count("'''") % 2:
            inside = not inside
            if not inside:
                continue
        elif inside:
            continue
        if found := _TABLE.match(line):
            table = found[1]
            if table not in _TOML:
                yield Left(table, Position(name, number, 1), "not supported")
        elif (key := _KEY.match(line)) and not line.lstrip().startswith("#"):
            known = _TOML.get(table, frozenset())
            if table in _TOML and known is not None and key[1] not in known:
                yield Left(f"{table}.{key[1]}", Position(name, number, 1), "not supported")
            elif not table:
                yield Left(key[1], Position(name, number, 1), "not supported")
