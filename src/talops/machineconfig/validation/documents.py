"""Validate the other documents, each alone and together with the main one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig.patches.identity import identify
from talops.machineconfig.validation import kubernetes, rules, system
from talops.machineconfig.validation.view import at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from talops.machineconfig.validation.view import View

    Check = Callable[[dict[str, Any]], Iterator[str]]

_LINK_KINDS = (
    "BondConfig",
    "BridgeConfig",
    "DummyLinkConfig",
    "LinkConfig",
    "VLANConfig",
    "VRFConfig",
    "VethConfig",
    "WireguardConfig",
)
_LONGEST_FQDN = 253
_LONGEST_LABEL = 63
_VLANS = range(1, 4095)
_KEY_TYPES = ("static", "nodeID", "kms", "tpm")
_VOLUMES = ("STATE", "EPHEMERAL", "IMAGECACHE")
_VOLUMES_OF_1_14 = ("ETCD", "CRI", "KUBELET", "LOG")


def problems(view: View) -> Iterator[str]:
    for document in view.others:
        check = _CHECKS.get(document["kind"])
        if check:
            yield from (f"{identify(document)}: {text}" for text in check(document))
    yield from _one_link_per_name(view)


def _link(document: dict[str, Any]) -> Iterator[str]:
    for place, item in enumerate(document.get("addresses") or []):
        if not rules.is_interface_address(item.get("address") or ""):
            yield f"address {place} must be a valid IP prefix"
    for place, route in enumerate(document.get("routes") or []):
        if route.get("destination") and not rules.is_network(route["destination"]):
            yield f"route {place} destination must be a valid IP prefix"
        for key in ("gateway", "source"):
            if route.get(key) and not rules.is_address(route[key]):
                yield f"route {place} {key} must be a valid IP address"


def _vlan(document: dict[str, Any]) -> Iterator[str]:
    if document.get("vlanID") not in _VLANS:
        yield "vlanID must be specified and between 1 and 4094"
    if not document.get("parent"):
        yield "parent must be specified"
    yield from _link(document)


def _alias(document: dict[str, Any]) -> Iterator[str]:
    if not at(document, "selector.match"):
        yield "link selector is required"


def _layer2_vip(document: dict[str, Any]) -> Iterator[str]:
    if not rules.is_address(document.get("name")):
        yield "name must be a valid IP address"
    if not document.get("link"):
        yield "link must be specified"


def _hostname(document: dict[str, Any]) -> Iterator[str]:
    auto, name = document.get("auto"), str(document.get("hostname") or "")
    if not auto and not name:
        yield "either 'auto' or 'hostname' must be set"
    if auto and auto not in {"off", "stable"}:
        yield f"invalid value for 'auto': {auto}"
    if name and auto == "stable":
        yield "'auto' and 'hostname' cannot be set at the same time"
    if len(name) > _LONGEST_FQDN:
        yield f"fqdn is too long: {len(name)}"
    first = name.split(".", maxsplit=1)[0]
    if name and not 0 < len(first) <= _LONGEST_LABEL:
        yield f'invalid hostname "{first}"'


def _resolver(document: dict[str, Any]) -> Iterator[str]:
    for place, server in enumerate(document.get("nameservers") or []):
        if not rules.is_address(server.get("address")):
            yield f"nameserver {place} must be a valid IP address"
    yield from rules.host_dns_problems(document.get("hostDNS") or {}, "hostDNS")


def _time(document: dict[str, Any]) -> Iterator[str]:
    if document.get("ntp") and document.get("ptp"):
        yield "only one of ntp or ptp configuration can be specified"


def _volume(document: dict[str, Any]) -> Iterator[str]:
    if document["kind"] == "VolumeConfig":
        yield from _system_volume(document, str(document.get("name")))
    encryption = document.get("encryption")
    if not encryption:
        return
    keys = encryption.get("keys") or []
    if not keys:
        yield "encryption keys are required"
    if encryption.get("provider") != "luks2":
        yield f"unsupported encryption provider: {encryption.get('provider')}"
    slots = [key.get("slot", 0) for key in keys]
    for slot in sorted({slot for slot in slots if slots.count(slot) > 1}):
        yield f"duplicate key slot {slot}"
    for slot, key in zip(slots, keys, strict=True):
        if not any(kind in key for kind in _KEY_TYPES):
            yield f"at least one encryption key type must be specified for slot {slot}"


def _system_volume(document: dict[str, Any], name: str) -> Iterator[str]:
    known = _VOLUMES + _VOLUMES_OF_1_14
    if name not in known:
        yield f"only {', '.join(known)} volumes are supported"
    if name == "STATE" and document.get("provisioning"):
        yield 'provisioning config is not allowed for the "STATE" volume'
    if name in {"STATE", "IMAGECACHE"} and document.get("mount"):
        yield f'mount config is not allowed for the "{name}" volume'
    if name in _VOLUMES_OF_1_14 and document.get("mount") and not document.get("provisioning"):
        yield (
            f'mount config for the "{name}" volume is only supported when it is provisioned'
            " onto a dedicated partition"
        )


def _mirror(document: dict[str, Any]) -> Iterator[str]:
    for place, endpoint in enumerate(document.get("endpoints") or []):
        scheme = str(endpoint.get("url") or "").partition("://")[0]
        if scheme not in {"http", "https"}:
            yield f'endpoints[{place}].url has unsupported scheme: "{scheme}"'


_CHECKS: dict[str, Check] = {
    **dict.fromkeys(_LINK_KINDS, _link),
    "VLANConfig": _vlan,
    "LinkAliasConfig": _alias,
    "Layer2VIPConfig": _layer2_vip,
    "HostnameConfig": _hostname,
    "ResolverConfig": _resolver,
    "TimeSyncConfig": _time,
    "VolumeConfig": _volume,
    "UserVolumeConfig": _volume,
    "RawVolumeConfig": _volume,
    "SwapVolumeConfig": _volume,
    "RegistryMirrorConfig": _mirror,
    **kubernetes.CHECKS,
    **system.CHECKS,
}


def _one_link_per_name(view: View) -> Iterator[str]:
    owners: dict[str, str] = {}
    for document in view.others:
        if document["kind"] not in _LINK_KINDS:
            continue
        names = [str(document.get("name"))]
        if document["kind"] == "VethConfig":  # which creates two links
            names.append(str(at(document, "peer.name") or ""))
        for name in names:
            if name in owners:
                yield f"conflicting documents: {owners[name]}/{name} and {document['kind']}/{name}"
            owners[name] = document["kind"]
