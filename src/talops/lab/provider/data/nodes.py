"""Nodes and the version of what runs on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.lab.provider.kinds import Call, DataSource
from talops.lab.provider.schema import Attribute, Block

if TYPE_CHECKING:
    from talops.lab.provider.values import Values

_COUNT = Attribute("number", readonly=True)
_TEXT = Attribute(readonly=True)


def _all(kind: str) -> Attribute:
    return Attribute(["list", kind], readonly=True)


class Nodes(DataSource):
    name = "proxmox_virtual_environment_nodes"
    block = Block(
        {
            "cpu_count": _all("number"),
            "cpu_utilization": _all("number"),
            "id": Attribute(computed=True),
            "memory_available": _all("number"),
            "memory_used": _all("number"),
            "names": _all("string"),
            "online": _all("bool"),
            "ssl_fingerprints": _all("string"),
            "support_levels": _all("string"),
            "uptime": _all("number"),
        }
    )

    async def read(self, call: Call, _config: Values) -> Values:
        found = sorted(await call.api.get("/nodes") or [], key=lambda node: str(node["node"]))
        return {
            "id": "nodes",
            "cpu_count": [node.get("maxcpu", 1) for node in found],
            "cpu_utilization": [round(node.get("cpu", 0), 2) for node in found],
            "memory_available": [node.get("maxmem", 0) for node in found],
            "memory_used": [node.get("mem", 0) for node in found],
            "names": [node["node"] for node in found],
            "online": [node.get("status") == "online" for node in found],
            "ssl_fingerprints": [node.get("ssl_fingerprint", "0") for node in found],
            "support_levels": [node.get("level", "") for node in found],
            "uptime": [node.get("uptime", 0) for node in found],
        }


class Node(DataSource):
    name = "proxmox_virtual_environment_node"
    block = Block(
        {
            "cpu_cores": _COUNT,
            "cpu_count": _COUNT,
            "cpu_model": _TEXT,
            "cpu_sockets": _COUNT,
            "cpu_utilization": _COUNT,
            "id": Attribute(computed=True),
            "memory_available": _COUNT,
            "memory_total": _COUNT,
            "memory_used": _COUNT,
            "node_name": Attribute(required=True),
            "uptime": _COUNT,
        }
    )

    async def read(self, call: Call, config: Values) -> Values:
        found = await call.api.get(f"/nodes/{config['node_name']}/status")
        cpu, memory = found.get("cpuinfo") or {}, found.get("memory") or {}
        return {
            "id": config["node_name"],
            "cpu_cores": cpu.get("cores", 1),
            "cpu_count": cpu.get("cpus", 1),
            "cpu_model": cpu.get("model", ""),
            "cpu_sockets": cpu.get("sockets", 1),
            "cpu_utilization": round(found.get("cpu", 0), 2),
            "memory_available": memory.get("free", 0),
            "memory_total": memory.get("total", 0),
            "memory_used": memory.get("used", 0),
            "uptime": found.get("uptime", 0),
        }


class Version(DataSource):
    name = "proxmox_version"
    block = Block({"id": _TEXT, "release": _TEXT, "repository_id": _TEXT, "version": _TEXT})

    async def read(self, call: Call, _config: Values) -> Values:
        found = await call.api.get("/version")
        return {
            "id": "version",
            "release": found["release"],
            "repository_id": found["repoid"],
            "version": found["version"],
        }
