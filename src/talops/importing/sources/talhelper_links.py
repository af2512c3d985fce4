"""`networkInterfaces` of talhelper as the documents that talhelper writes from Talos 1.12 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig.documents.document import document

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from talops.importing.model import Document

DEVICE_KEYS = frozenset(
    {
        *("interface", "deviceSelector", "addresses", "routes", "bond", "bridge", "vlans", "mtu"),
        *("dhcp", "dhcpOptions", "vip", "wireguard"),
    }
)
_GLOBS = {
    "hardwareAddr": "mac(link.hardware_addr)",
    "permanentAddr": "mac(link.permanent_addr)",
    "busPath": "link.bus_path",
    "driver": "link.driver",
    "pciID": "link.pciid",
}
_BOND_NAMES = {
    "mode": "bondMode",
    "xmitHashPolicy": "xmitHashPolicy",
    "lacpRate": "lacpRate",
    "arpValidate": "arpValidate",
    "arpAllTargets": "arpAllTargets",
    "primaryReselect": "primaryReselect",
    "failOverMac": "failOverMac",
    "adSelect": "adSelect",
    "miimon": "miimon",
    "updelay": "updelay",
    "downdelay": "downdelay",
    "arpInterval": "arpInterval",
    "resendIgmp": "resendIGMP",
    "minLinks": "minLinks",
    "lpInterval": "lpInterval",
    "packetsPerSlave": "packetsPerSlave",
    "numPeerNotif": "numPeerNotif",
    "tlbDynamicLb": "tlbLogicalLb",
    "allSlavesActive": "allSlavesActive",
    "useCarrier": "useCarrier",
    "adActorSysPrio": "adActorSysPrio",
    "adUserPortKey": "adUserPortKey",
    "peerNotifyDelay": "peerNotifDelay",
    "arpIPTarget": "arpIpTargets",
}
BOND_KEYS = frozenset({*_BOND_NAMES, "interfaces", "deviceSelectors"})


def documents(devices: Sequence[dict[str, Any]]) -> list[Document]:
    named = _named(devices)
    return [
        document
        for write in (_aliases, _members, _bonds, _dhcp, _vips, _links, _vlans, _tunnels, _bridges)
        for device in named
        for document in write(device)
    ]


def _named(devices: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A device without a name gets one by its kind: ethSel0, bond0, br0, wg0."""
    used = {device.get("interface") for device in devices}
    counts: dict[str, int] = {}
    found = []
    for device in devices:
        if device.get("interface") or not device.get("deviceSelector"):
            found.append(device)
            continue
        kinds = (("bond", "bond"), ("bridge", "br"), ("wireguard", "wg"))
        prefix = next((short for key, short in kinds if device.get(key)), "ethSel")
        while True:
            name = f"{prefix}{counts.get(prefix, 0)}"
            counts[prefix] = counts.get(prefix, 0) + 1
            if name not in used:
                break
        used.add(name)
        found.append({**device, "interface": name})
    return found


def _name(device: dict[str, Any]) -> str:
    return str(device.get("interface") or "")


def _aliases(device: dict[str, Any]) -> Iterator[Document]:
    match = _condition(device.get("deviceSelector") or {})
    if match:
        yield document("LinkAliasConfig", name=_name(device), selector={"match": match})


def _members(device: dict[str, Any]) -> Iterator[Document]:
    for place, selector in enumerate((device.get("bond") or {}).get("deviceSelectors") or []):
        if match := _condition(selector):
            name = f"{_name(device)}-m{place}"
            yield document("LinkAliasConfig", name=name, selector={"match": match})


def _condition(selector: dict[str, Any]) -> str:
    given = [(selector.get(key), what) for key, what in _GLOBS.items()]
    found = [f'glob("{value}", {what})' for value, what in given if value]
    if selector.get("physical") is not None:
        found.append("link.type == 1" if selector["physical"] else "link.type != 1")
    return " && ".join(found)


def _bonds(device: dict[str, Any]) -> Iterator[Document]:
    bond = device.get("bond")
    if not bond:
        return
    selectors = bond.get("deviceSelectors") or []
    members = [f"{_name(device)}-m{place}" for place in range(len(selectors))]
    links = [*(bond.get("interfaces") or []), *members]
    own = {ours: bond[name] for name, ours in _BOND_NAMES.items() if bond.get(name)}
    if "useCarrier" in bond:
        own["useCarrier"] = bond["useCarrier"]
    given = {"links": links} if links else {}
    yield document("BondConfig", name=_name(device), **given, **own, **_addressing(device))


def _dhcp(device: dict[str, Any]) -> Iterator[Document]:
    if device.get("dhcp"):
        yield from _dhcp_of(_name(device), device.get("dhcpOptions") or {})


def _dhcp_of(name: str, options: dict[str, Any]) -> Iterator[Document]:
    metric = {"routeMetric": options["routeMetric"]} if options.get("routeMetric") else {}
    if options.get("ipv4", True):
        yield document("DHCPv4Config", name=name, **metric)
    if options.get("ipv6"):
        yield document("DHCPv6Config", name=name, **metric)


def _vips(device: dict[str, Any]) -> Iterator[Document]:
    if address := (device.get("vip") or {}).get("ip"):
        yield document("Layer2VIPConfig", name=str(address), link=_name(device))


def _links(device: dict[str, Any]) -> Iterator[Document]:
    if any(device.get(kind) for kind in ("bond", "wireguard", "bridge")):
        return
    if addressing := _addressing(device):
        yield document("LinkConfig", name=_name(device), **addressing)


def _vlans(device: dict[str, Any]) -> Iterator[Document]:
    for vlan in device.get("vlans") or []:
        number = vlan.get("vlanId")
        if not number:
            continue
        name = f"{_name(device)}.{number}"
        own = {"vlanID": number, "parent": _name(device)}
        yield document("VLANConfig", name=name, **own, **_addressing(vlan))
        if vlan.get("dhcp"):
            yield from _dhcp_of(name, vlan.get("dhcpOptions") or {})
        if address := (vlan.get("vip") or {}).get("ip"):
            yield document("Layer2VIPConfig", name=str(address), link=name)


def _tunnels(device: dict[str, Any]) -> Iterator[Document]:
    given = device.get("wireguard")
    if not given:
        return
    names = ("privateKey", "listenPort", "firewallMark")
    own = {name: given[name] for name in names if given.get(name)}
    listed = given.get("peers") or []
    peers = [{key: value for key, value in peer.items() if value} for peer in listed]
    own |= {"peers": peers} if peers else {}
    yield document("WireguardConfig", name=_name(device), **own, **_addressing(device))


def _bridges(device: dict[str, Any]) -> Iterator[Document]:
    given = device.get("bridge")
    if not given:
        return
    own: dict[str, Any] = {"links": given["interfaces"]} if given.get("interfaces") else {}
    if (enabled := (given.get("stp") or {}).get("enabled")) is not None:
        own["stp"] = {"enabled": enabled}
    if (given.get("vlan") or {}).get("vlanFiltering"):
        own["vlan"] = {"filtering": True}
    yield document("BridgeConfig", name=_name(device), **own, **_addressing(device))


def _addressing(part: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if part.get("mtu"):
        found["mtu"] = part["mtu"]
    if part.get("addresses"):
        found["addresses"] = [{"address": _prefixed(str(a))} for a in part["addresses"]]
    if part.get("routes"):
        found["routes"] = [_route(route) for route in part["routes"]]
    return found


def _prefixed(address: str) -> str:
    return address if "/" in address else f"{address}/{128 if ':' in address else 32}"


def _route(route: dict[str, Any]) -> dict[str, Any]:
    """The destination of a default route follows from its gateway."""
    found = {}
    if route.get("network") and route["network"] not in {"0.0.0.0/0", "::/0"}:
        found["destination"] = route["network"]
    names = ("gateway", "source", "metric", "mtu")
    return found | {name: route[name] for name in names if route.get(name)}
