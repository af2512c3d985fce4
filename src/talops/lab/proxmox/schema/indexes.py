"""Index calls of the API: the entries below a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema import api
from talops.lab.proxmox.vm.records import find

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call


def _subdirs(*names: str) -> list[dict[str, str]]:
    return [{"subdir": name} for name in names]


@route("GET", "/")
def root(_: Call) -> list[dict[str, str]]:
    return _subdirs("version", "cluster", "nodes", "storage", "access", "pools")


@route("GET", "/access")
def access(_: Call) -> list[dict[str, str]]:
    return _subdirs(
        "users", "groups", "roles", "acl", "domains", "openid", "tfa", "ticket", "password"
    )


@route("GET", "/cluster")
def cluster(_: Call) -> list[dict[str, str]]:
    return [
        {"name": name}
        for name in ("ha", "mapping", "sdn", "firewall", "resources", "nextid", "status", "tasks")
    ]


@route("GET", "/cluster/ha")
def ha(_: Call) -> list[dict[str, str]]:
    return [{"id": name} for name in ("status", "resources", "groups", "rules")]


@route("GET", "/cluster/mapping")
def mapping(_: Call) -> list[dict[str, str]]:
    return [{"name": name} for name in ("dir", "pci", "usb")]


@route("GET", "/cluster/sdn")
def sdn(_: Call) -> list[dict[str, str]]:
    return [{"id": name} for name in ("vnets", "zones", "controllers", "ipams", "dns", "fabrics")]


@route("GET", "/cluster/sdn/zones")
@route("GET", "/cluster/sdn/vnets")
def sdn_objects(_: Call) -> list[dict[str, str]]:
    """A lab has no zones: the local network is not a configuration object."""
    return []


@route("GET", "/cluster/firewall")
def cluster_firewall(_: Call) -> list[dict[str, str]]:
    return [
        {"name": n} for n in ("groups", "rules", "ipset", "aliases", "options", "macros", "refs")
    ]


@route("GET", "/nodes/{node}")
def node(_: Call) -> list[dict[str, str]]:
    return [
        {"name": name}
        for name in (
            "qemu",
            "storage",
            "network",
            "tasks",
            "hardware",
            "capabilities",
            "status",
            "version",
            "time",
            "dns",
            "hosts",
            "sdn",
            "firewall",
            "query-url-metadata",
        )
    ]


@route("GET", "/nodes/{node}/hardware")
def hardware(_: Call) -> list[dict[str, str]]:
    return [{"type": "pci"}, {"type": "usb"}]


@route("GET", "/nodes/{node}/capabilities")
def capabilities(_: Call) -> list[dict[str, str]]:
    return [{"name": "qemu"}]


@route("GET", "/nodes/{node}/capabilities/qemu")
def qemu_capabilities(_: Call) -> list[dict[str, str]]:
    return [{"name": "cpu"}, {"name": "cpu-flags"}, {"name": "machines"}, {"name": "migration"}]


@route("GET", "/nodes/{node}/capabilities/qemu/cpu")
def cpu_models(call: Call) -> list[dict[str, Any]]:
    return call.pve.shuffled(
        [{"name": name, "custom": 0, "vendor": "default"} for name in sorted(api.cpu_models())]
    )


@route("GET", "/nodes/{node}/capabilities/qemu/machines")
def machines(_: Call) -> list[dict[str, str]]:
    return [
        {"id": f"pc-{kind}-{version}", "type": kind, "version": version}
        for version in ("10.1", "9.2", "8.2")
        for kind in ("i440fx", "q35")
    ]


@route("GET", "/nodes/{node}/sdn")
def node_sdn(_: Call) -> list[dict[str, str]]:
    return _subdirs("zones")


@route("GET", "/nodes/{node}/sdn/zones")
def node_zones(call: Call) -> list[dict[str, str]]:
    if not call.may("/sdn/zones/localnetwork", "SDN.Audit"):
        return []
    return [{"zone": "localnetwork", "status": "available"}]


@route("GET", "/nodes/{node}/firewall")
def node_firewall(_: Call) -> list[dict[str, str]]:
    return [{"name": name} for name in ("rules", "options", "log")]


@route("GET", "/nodes/{node}/qemu/{vmid}")
def vm(_: Call) -> list[dict[str, str]]:
    return _subdirs(
        "config", "cloudinit", "pending", "status", "unlink", "migrate", "remote_migrate", "resize",
        "move", "rrd", "rrddata", "monitor", "agent", "snapshot", "spiceproxy", "sendkey",
        "firewall", "mtunnel",
    )  # fmt: skip


@route("GET", "/nodes/{node}/qemu/{vmid}/status")
def vm_status(call: Call) -> list[dict[str, str]]:
    find(call.pve, call.node, call.vmid)
    return _subdirs("current", "start", "stop", "reset", "shutdown", "suspend", "reboot")


@route("GET", "/nodes/{node}/qemu/{vmid}/agent")
def vm_agent(_: Call) -> list[dict[str, str]]:
    return [{"name": "network-get-interfaces"}, {"name": "ping"}]


@route("GET", "/nodes/{node}/qemu/{vmid}/firewall")
def vm_firewall(_: Call) -> list[dict[str, str]]:
    return [{"name": n} for n in ("rules", "aliases", "ipset", "refs", "options", "log")]
