"""A machine's disks and network as COSI resources."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from talops.lab.talos import kinds
from talops.lab.talos.config import link_aliases
from talops.lab.talos.resources import Item, item
from talops.talos.wire import common_pb2, spec_block_pb2, spec_enums_pb2, spec_network_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.lab.talos.node import Node

# EPHEMERAL has what the others (and the boot partition, counted with META) leave.
_VOLUMES = {"META": 2**30, "STATE": 100 * 2**20, "EPHEMERAL": 0}
_PREFIX = 24


def disks(node: Node) -> Iterator[Item]:
    for device in node.devices:
        fields: dict[str, Any] = {
            "size": device.size,
            "io_size": 512,
            "sector_size": 512,
            "readonly": device.readonly,
            "model": device.model,
            "serial": device.serial,
            "sub_system": "/sys/class/block",
            "transport": device.transport,
            "cdrom": device.cdrom,
            "dev_path": device.path,
            "pretty_size": device.pretty_size,
        }
        yield item(kinds.DISKS, device.name, spec_block_pb2.DiskSpec(**fields), fields)
    system = node.store.installation().disk
    if not system:
        return
    name = system.removeprefix("/dev/")
    spec = spec_block_pb2.SystemDiskSpec(disk_id=name, dev_path=system)
    yield item(kinds.SYSTEM_DISK, "system-disk", spec, {"diskID": name, "devPath": system})
    whole = sum(device.size for device in node.devices if device.path == system)
    for index, (label, size) in enumerate(_VOLUMES.items(), start=1):
        volume = spec_block_pb2.VolumeStatusSpec(
            phase=spec_enums_pb2.VOLUME_PHASE_READY,
            type=spec_enums_pb2.VOLUME_TYPE_PARTITION,
            location=f"{system}{index}",
            parent_location=system,
            partition_index=index,
            size=size or max(whole - sum(_VOLUMES.values()), 0),
        )
        yaml = {"phase": "ready", "location": f"{system}{index}", "size": volume.size}
        yield item(kinds.VOLUMES, label, volume, yaml)


def network(node: Node) -> Iterator[Item]:
    aliases = {mac: name for name, mac in link_aliases(node.config, node.macs).items()}
    for index, nic in enumerate(node.machine.nics):
        mac = nic.mac.lower()
        name, mtu = f"eth{index}", nic.mtu or 1500
        raw = bytes.fromhex(mac.replace(":", ""))
        spec = spec_network_pb2.LinkStatusSpec(
            index=index + 2,
            type=spec_enums_pb2.LINK_ETHER,
            hardware_addr=raw,
            permanent_addr=raw,
            mtu=mtu,
            operational_state=spec_enums_pb2.OPER_STATE_UP,
            driver="virtio_net",
            link_state=True,
            alias=aliases.get(mac, ""),
        )
        yaml = {
            "index": index + 2,
            "type": "ether",
            "hardwareAddr": mac,
            "permanentAddr": mac,
            "mtu": mtu,
            "operationalState": "up",
            "linkState": True,
            "alias": aliases.get(mac, ""),
        }
        yield item(kinds.LINKS, name, spec, yaml)
    yield from _addresses(node)


def _addresses(node: Node) -> Iterator[Item]:
    link = "eth0"
    for address in node.addresses:
        prefix = common_pb2.NetIPPrefix(
            ip=ipaddress.ip_address(address).packed, prefix_length=_PREFIX
        )
        text = f"{address}/{_PREFIX}"
        spec = spec_network_pb2.AddressStatusSpec(
            address=prefix, link_name=link, family=spec_enums_pb2.FAMILY_INET4
        )
        yield item(kinds.ADDRESSES, f"{link}/{text}", spec, {"address": text, "linkName": link})
    prefixes = [
        common_pb2.NetIPPrefix(ip=ipaddress.ip_address(a).packed, prefix_length=_PREFIX)
        for a in node.addresses
    ]
    yaml = {"addresses": [f"{a}/{_PREFIX}" for a in node.addresses]}
    for name in ("current", "default", "routed"):
        spec_all = spec_network_pb2.NodeAddressSpec(addresses=prefixes)
        yield item(kinds.NODE_ADDRESSES, name, spec_all, yaml)
    hostname = spec_network_pb2.HostnameStatusSpec(hostname=node.hostname)
    yield item(kinds.HOSTNAME, "hostname", hostname, {"hostname": node.hostname, "domainname": ""})
    servers = node.machine.network.nameservers if node.machine.network else ()
    resolvers = spec_network_pb2.ResolverStatusSpec(
        dns_servers=[common_pb2.NetIP(ip=ipaddress.ip_address(s).packed) for s in servers]
    )
    yield item(kinds.RESOLVERS, "resolvers", resolvers, {"dnsServers": list(servers)})
    times = spec_network_pb2.TimeServerStatusSpec(ntp_servers=["time.cloudflare.com"])
    yield item(kinds.TIME_SERVERS, "timeservers", times, {"timeServers": ["time.cloudflare.com"]})
    state = {
        "address_ready": bool(node.addresses),
        "connectivity_ready": bool(node.addresses),
        "hostname_ready": True,
        "etc_files_ready": True,
    }
    yaml_state = {"addressReady": state["address_ready"], "connectivityReady": True}
    yield item(kinds.NETWORK_STATUS, "status", spec_network_pb2.StatusSpec(**state), yaml_state)
