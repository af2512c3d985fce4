"""The part of a node's config that talhelper writes from the keys of the node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.importing.sources import talhelper_links
from talops.machineconfig.documents.document import document
from talops.machineconfig.patches.reading import apply_patches, make_patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.importing.model import Document
    from talops.importing.sources.files import Parsed
    from talops.importing.sources.talhelper_patches import Patcher

_COPIED = {
    "machineDisks": "disks",
    "nodeAnnotations": "nodeAnnotations",
    "nodeLabels": "nodeLabels",
    "nodeTaints": "nodeTaints",
}
_VOLUME = ("provisioning", "encryption")
_USER_VOLUME = ("volumeType", "provisioning", "filesystem", "encryption")


def node_documents(
    base: list[Document],
    data: dict[str, Any],
    node: dict[str, Any],
    config: Parsed,
    loc: tuple[str | int, ...],
    patcher: Patcher,
) -> list[Document]:
    """The main document gets values; the other documents are merged as a patch."""
    main = base[0]
    machine: dict[str, Any] = dict(main["machine"])
    for key, name in _COPIED.items():
        if node.get(key):
            machine[name] = patcher.rendered(node[key], machine, config, (*loc, key))
    if node.get("kernelModules"):
        machine["kernel"] = {"modules": node["kernelModules"]}
    if selector := node.get("installDiskSelector"):
        machine["install"] = {**machine["install"], "diskSelector": selector}
    if node.get("machineFiles"):
        machine["files"] = patcher.files(node["machineFiles"], config, (*loc, "machineFiles"))
    if node.get("certSANs"):
        machine["certSANs"] = [*machine.get("certSANs", []), *node["certSANs"]]
    cluster: dict[str, Any] = dict(main["cluster"])
    if cni := data.get("cniConfig"):
        cluster["network"] = {**cluster["network"], "cni": cni}
    if manifests := data.get("inlineManifests"):
        cluster["inlineManifests"] = patcher.inline_manifests(manifests, config)
    documents = [{**main, "machine": machine, "cluster": cluster}, *base[1:]]
    where = str(config.where(loc))
    own = make_patch([*_documents(node, config, loc)], where=where)
    return apply_patches(documents, [own], patcher.contract)


def _documents(
    node: dict[str, Any], config: Parsed, loc: tuple[str | int, ...]
) -> Iterator[Document]:
    if node.get("nameservers") or node.get("disableSearchDomain"):
        servers = [{"address": str(address)} for address in node.get("nameservers") or []]
        search = {"disableDefault": bool(node.get("disableSearchDomain"))}
        given: dict[str, Any] = {"nameservers": servers} if servers else {}
        yield document("ResolverConfig", **given, searchDomains=search)
    if node.get("ignoreHostname"):
        yield document("HostnameConfig", auto="stable")
    else:
        yield document("HostnameConfig", auto="off", hostname=node["hostname"])
    yield from _firewall(node.get("ingressFirewall"), config, (*loc, "ingressFirewall"))
    for service in _maps(node, "extensionServices", config, loc):
        yield _chosen("ExtensionServiceConfig", service, ("configFiles", "environment"))
    for volume in _maps(node, "volumes", config, loc):
        yield _chosen("VolumeConfig", volume, _VOLUME)
    for volume in _maps(node, "userVolumes", config, loc):
        yield _chosen("UserVolumeConfig", volume, _USER_VOLUME)
    yield from talhelper_links.documents(_maps(node, "networkInterfaces", config, loc))


def _firewall(given: Any, config: Parsed, loc: tuple[str | int, ...]) -> Iterator[Document]:
    if not given:
        return
    if not isinstance(given, dict):
        raise config.error(loc, "ingressFirewall is not a mapping")
    yield document("NetworkDefaultActionConfig", ingress=given.get("defaultAction") or "accept")
    for rule in _maps(given, "rules", config, loc):
        yield _chosen("NetworkRuleConfig", rule, ("portSelector", "ingress"))


def _chosen(kind: str, given: dict[str, Any], names: tuple[str, ...]) -> Document:
    own = {name: given[name] for name in names if given.get(name) not in (None, {}, [])}
    return document(kind, name=str(given.get("name") or ""), **own)


def _maps(
    data: dict[str, Any], key: str, config: Parsed, loc: tuple[str | int, ...]
) -> list[dict[str, Any]]:
    given = data.get(key)
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
        raise config.error((*loc, key), f"{key} is not a list of mappings")
    return given
