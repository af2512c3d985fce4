"""What a machine config says that nodes.yaml and cluster.yaml have keys for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import TYPE_CHECKING, Any

from talops.machineconfig.validation.view import View, at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from talops.importing.model import Document

_ADDR = r"mac\(link\.(?:permanent_addr|hardware_addr)\)"
_MAC = re.compile(rf'{_ADDR} == "([0-9a-fA-F:]{{17}})"|glob\("([0-9a-fA-F:]{{17}})", {_ADDR}\)')
_INSTALLER = re.compile(
    r"(?P<factory>[^/]+)/(?:(?P<platform>[a-z0-9]+)-)?installer(?P<secure>-secureboot)?/"
    r"(?P<schematic>[0-9a-f]{64}):(?P<version>v[0-9][^@]*)"
)
_MATCH_DISK = re.compile(r'disk\.dev_path == "([^"]+)"')


@dataclass(frozen=True)
class Nic:
    """The interface that has the address of the node, with its VLAN."""

    mac: str | None = None
    address: IPv4Interface | None = None
    gateway: str | None = None
    mtu: int | None = None
    vlan: int | None = None
    vip: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class Image:
    factory: str | None = None
    platform: str | None = None
    schematic: str | None = None
    secureboot: bool = False
    version: str | None = None


def view_of(documents: Sequence[Document]) -> View:
    found = View.of(documents)
    return found if found is not None else View({}, tuple(documents))


def hostname(view: View) -> str | None:
    found = view.either("machine.network.hostname", "HostnameConfig", "hostname")
    return str(found) if found else None


def nic(view: View, address: IPv4Address | None) -> Nic:
    """The interface with this address; without one, the first that has a static address."""
    found = [*_of_interfaces(view), *_of_links(view)]
    with_address = [one for one in found if one.address]
    exact = [one for one in with_address if one.address and one.address.ip == address]
    chosen = next(iter(exact or ([] if address else with_address) or found), Nic())
    vips = [one.vip for one in found if one.vip]
    vips += [str(document.get("name")) for document in view.kind("Layer2VIPConfig")]
    return Nic(
        mac=chosen.mac,
        address=chosen.address if not address or chosen in exact else None,
        gateway=chosen.gateway,
        mtu=chosen.mtu,
        vlan=chosen.vlan,
        vip=next(iter(vips), None),
        name=chosen.name,
    )


def _of_interfaces(view: View) -> Iterator[Nic]:
    """`machine.network.interfaces`, as Talos up to 1.11 has them, and later ones accept."""
    for device in _list(at(view.main, "machine.network.interfaces")):
        selector = device.get("deviceSelector") or {}
        mac = _text(selector.get("hardwareAddr") or selector.get("permanentAddr"))
        mac = mac if mac and "*" not in mac else None
        yield from _of_device(device, device, mac)
        for vlan in _list(device.get("vlans")):
            yield from _of_device(vlan, device, mac)


def _of_device(part: Document, device: Document, mac: str | None) -> Iterator[Nic]:
    addresses = [_interface(item) for item in _list_of_any(part.get("addresses"))]
    routes = [route for route in _list(part.get("routes")) if _is_default(route.get("network"))]
    yield Nic(
        mac=mac,
        address=next((one for one in addresses if one), None),
        gateway=next((_text(route.get("gateway")) for route in routes), None),
        mtu=_number(part.get("mtu") or device.get("mtu")),
        vlan=_number(part.get("vlanId")) if part is not device else None,
        vip=_text(at(part, "vip.ip")),
        name=_text(device.get("interface")),
    )


def _of_links(view: View) -> Iterator[Nic]:
    aliases = {str(d.get("name")): _alias_mac(d) for d in view.kind("LinkAliasConfig")}
    for bond in view.kind("BondConfig"):
        members = [aliases.get(str(link)) for link in _list_of_any(bond.get("links"))]
        aliases[str(bond.get("name"))] = next((mac for mac in members if mac), None)
    for kind in ("LinkConfig", "VLANConfig", "BondConfig", "BridgeConfig"):
        for link in view.kind(kind):
            addresses = [_interface(item.get("address")) for item in _list(link.get("addresses"))]
            routes = [r for r in _list(link.get("routes")) if _is_default(r.get("destination"))]
            parent = str(link.get("parent") or link.get("name"))
            yield Nic(
                mac=aliases.get(parent),
                address=next((one for one in addresses if one), None),
                gateway=next((_text(route.get("gateway")) for route in routes), None),
                mtu=_number(link.get("mtu")),
                vlan=_number(link.get("vlanID")) if kind == "VLANConfig" else None,
                name=parent,
            )
    # With DHCP, an alias may be all that there is.
    yield from (Nic(mac=mac, name=name) for name, mac in aliases.items() if mac)


def _alias_mac(document: Document) -> str | None:
    found = _MAC.search(str(at(document, "selector.match") or ""))
    return (found[1] or found[2]).lower() if found else None


def image(view: View) -> Image:
    """Of the installer; `factory` only for the id of a schematic."""
    install = at(view.main, "machine.install.image")
    for document in view.kind("UnattendedInstallConfig"):
        install = at(document, "installer.image") or install
    found = _INSTALLER.fullmatch(str(install or ""))
    if not found:
        return Image()
    return Image(
        found["factory"],
        found["platform"],
        found["schematic"],
        bool(found["secure"]),
        found["version"],
    )


def disk(view: View) -> Any:
    """As nodes.yaml writes it: a path or a selector; None if it has neither."""
    install = at(view.main, "machine.install") or {}
    if install.get("disk"):
        return install["disk"]
    if selector := install.get("diskSelector"):
        if set(selector) == {"serial"} and not str(selector["serial"]).startswith("/"):
            return str(selector["serial"])
        names = {"busPath": "bus_path"}
        return {names.get(key, key): str(value) for key, value in selector.items()}
    for document in view.kind("UnattendedInstallConfig"):
        match = str(at(document, "provisioning.diskSelector.match") or "")
        if found := _MATCH_DISK.fullmatch(match):
            return found[1]
    return None


def versions(view: View) -> str | None:
    """Of Kubernetes, by the image of the kubelet."""
    text = at(view.main, "machine.kubelet.image")
    for document in view.kind("KubeletConfig"):
        text = document.get("image") or text
    found = re.search(r":(v\d+\.\d+\.\d+)(?:@|$)", str(text or ""))
    return found[1] if found else None


def taints(view: View) -> list[str]:
    given = at(view.main, "machine.nodeTaints") or {}
    for document in view.kind("KubeNodeConfig"):
        given = document.get("taints") or given
    return [
        f"{key}={value}" if ":" in str(value) else f"{key}:{value}"
        for key, value in given.items()
        if key != "node-role.kubernetes.io/control-plane"
    ]


def labels(view: View) -> dict[str, str]:
    given = at(view.main, "machine.nodeLabels") or {}
    for document in view.kind("KubeNodeConfig"):
        given = document.get("labels") or given
    own = ("node-role.kubernetes.io/", "node.kubernetes.io/exclude-from-external-load-balancers")
    return {str(k): str(v) for k, v in given.items() if not str(k).startswith(own)}


def kernel_modules(view: View) -> list[str]:
    """Only those without parameters: the inventory has none."""
    listed = _list(at(view.main, "machine.kernel.modules")) + view.kind("KernelModuleConfig")
    return [str(module["name"]) for module in listed if set(module) <= {"name", *_HEADER}]


_HEADER = ("apiVersion", "kind")


def encrypted(view: View) -> bool:
    volumes = {str(d.get("name")) for d in view.kind("VolumeConfig") if d.get("encryption")}
    return {"STATE", "EPHEMERAL"} <= volumes


def networks(view: View, key: str) -> list[str]:
    """`podSubnets` or `serviceSubnets`."""
    found = at(view.main, f"cluster.network.{key}")
    for document in view.kind("KubeNetworkConfig"):
        found = document.get(key) or found
    return [str(item) for item in _list_of_any(found)]


def cluster_name(view: View) -> str | None:
    found = view.either("cluster.clusterName", "KubeClusterConfig", "clusterName")
    return str(found) if found else None


def endpoint(view: View) -> str | None:
    found = view.either("cluster.controlPlane.endpoint", "KubeClusterConfig", "endpoint")
    return str(found) if found else None


def resolvers(view: View) -> list[str]:
    found = _list_of_any(at(view.main, "machine.network.nameservers"))
    for document in view.kind("ResolverConfig"):
        found = [item.get("address") for item in _list(document.get("nameservers"))] or found
    return [str(item) for item in found if item]


def time_servers(view: View) -> list[str]:
    found = _list_of_any(at(view.main, "machine.time.servers"))
    for document in view.kind("TimeSyncConfig"):
        found = _list_of_any(at(document, "ntp.servers")) or found
    return [str(item) for item in found if item]


def mirrors(view: View) -> dict[str, list[str]]:
    """Only documents that consist of addresses; others stay patches."""
    return {
        str(document["name"]): [str(end["url"]) for end in _list(document.get("endpoints"))]
        for document in view.kind("RegistryMirrorConfig")
        if set(document) <= {*_HEADER, "name", "endpoints"}
        and all(set(end) == {"url"} for end in _list(document.get("endpoints")))
    }


def _is_default(network: Any) -> bool:
    return str(network or "") in {"", "0.0.0.0/0"}


def _interface(value: Any) -> IPv4Interface | None:
    try:
        return IPv4Interface(str(value))
    except ValueError:
        return None


def _list(value: Any) -> list[Document]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _list_of_any(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value else None


def network_of(addresses: Sequence[IPv4Interface], others: Sequence[IPv4Address]) -> IPv4Network:
    """The network of the nodes: as configured, or the /24 of the first one and wider."""
    for interface in addresses:
        if interface.network.prefixlen < 32:  # noqa: PLR2004
            return _around(interface.network, others)
    return _around(IPv4Network(f"{others[0]}/24", strict=False), others)


def _around(network: IPv4Network, others: Sequence[IPv4Address]) -> IPv4Network:
    while not all(other in network for other in others) and network.prefixlen > 8:  # noqa: PLR2004
        network = network.supernet()
    return network
