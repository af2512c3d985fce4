"""A cluster brought up without talops: a plain module of OpenTofu, and Talos' API by hand.

The resources are written as the documentation of bpg/proxmox and the guides of Talos write them.
The machine configs are valid ones for these nodes, sent as `talosctl apply-config --insecure` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.inventory.load import load
from talops.machineconfig.build import build_configs
from talops.machineconfig.contract import Contract
from talops.machineconfig.secrets import bundle as bundles
from talops.site.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.e2e.conftest import Lab

    from talops.inventory.model import Cluster, Node
    from talops.machineconfig.secrets.bundle import Bundle

# What the plain module does otherwise than talops would by default.
ADVANCED = """
boot: image
allow_scheduling_on_control_planes: true
proxmox_vm_advanced: {numa: false, net_queues: 0, scsi_hw: virtio-scsi-single, tags: [talos]}
"""
_MAIN = """
terraform {{
  required_providers {{
    proxmox = {{ source = "bpg/proxmox", version = "0.112.0" }}
  }}
}}

resource "proxmox_download_file" "talos" {{
  node_name    = "pve"
  datastore_id = "local"
  content_type = "import"
  file_name    = "talos.qcow2"
  url          = "{url}"
}}
"""
_VM = """
resource "proxmox_virtual_environment_vm" "{name}" {{
  name          = "{name}"
  description   = "made by hand"
  node_name     = "pve"
  vm_id         = {vm_id}
  bios          = "ovmf"
  machine       = "q35"
  scsi_hardware = "virtio-scsi-single"
  boot_order    = ["scsi0"]

  operating_system {{
    type = "l26"
  }}
  cpu {{
    cores = 2
    type  = "host"
  }}
  memory {{
    dedicated = 4096
  }}
  efi_disk {{
    datastore_id = "local-lvm"
    type         = "4m"
  }}
  disk {{
    interface    = "scsi0"
    datastore_id = "local-lvm"
    import_from  = proxmox_download_file.talos.id
    size         = 32
    iothread     = true
    ssd          = true
    discard      = "on"
  }}
  network_device {{
    bridge      = "vmbr0"
    mac_address = "{mac}"
  }}
  initialization {{
    datastore_id = "local-lvm"
    interface    = "ide2"
    dns {{
      servers = {dns}
    }}
    ip_config {{
      ipv4 {{
        address = "{address}/{prefix}"
        gateway = "{gateway}"
      }}
    }}
  }}
  serial_device {{}}
}}
"""


@dataclass(frozen=True)
class Plain:
    cluster: Cluster
    bundle: Bundle
    fleet: Fleet

    async def boots(self) -> dict[str, str]:
        """The boot id of each node."""
        return {node.name: await self._boot(node) for node in self.cluster.nodes}

    async def _boot(self, node: Node) -> str:
        async with self.fleet.fresh(node) as talos:
            return await talos.files.boot_id()

    async def members(self) -> set[tuple[str, int]]:
        async with self.fleet.fresh(self.cluster.control_planes[0]) as talos:
            return {(member.hostname, member.id) for member in await talos.etcd.members()}


async def bring_up(lab: Lab, tofu: Path, place: Path) -> Plain:
    """Leaves only running machines: nothing of it is in the directory of the inventory."""
    cluster = load(lab.root).require()
    bundle = bundles.generate(datetime.now(UTC), Contract(cluster.talos_contract.removeprefix("v")))
    text = _module(cluster)
    await asyncio.to_thread(place.mkdir)
    await asyncio.to_thread((place / "main.tf").write_text, text)
    await _apply(lab, tofu, place)
    found = Plain(cluster, bundle, Fleet(bundle))
    configs = build_configs(cluster, bundle, lambda name: (lab.root / name).read_text("utf-8"))
    for node in cluster.nodes:
        await _until(partial(_configure, found, node, configs[node.name].to_yaml()))
    await _until(lambda: _bootstrap(found))
    await _until(lambda: _ready(lab, found))
    return found


def _module(cluster: Cluster) -> str:
    image = cluster.nodes[0].image.path(cluster.talos_version, "qcow2")
    text = _MAIN.format(url=f"{cluster.image_factory_url}/{image}")
    for node in cluster.nodes:
        assert node.vm
        text += _VM.format(
            name=node.name,
            vm_id=node.vm.vm_id,
            mac=node.mac,
            dns=json.dumps([str(each) for each in cluster.network.dns]),
            address=node.address,
            prefix=cluster.network.cidr.prefixlen,
            gateway=cluster.network.gateway,
        )
    return text


async def _apply(lab: Lab, tofu: Path, place: Path) -> None:
    for words in (["init"], ["apply", "-auto-approve"]):
        process = await asyncio.create_subprocess_exec(
            tofu,
            *words,
            "-input=false",
            "-no-color",
            cwd=place,
            env={**os.environ, **lab.environment, **lab.for_provider()},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        out, _ = await process.communicate()
        assert process.returncode == 0, out.decode()


async def _configure(found: Plain, node: Node, config: str) -> bool:
    async with found.fleet.maintenance(node) as talos:
        await talos.machine.apply_configuration(config)
    return True


async def _bootstrap(found: Plain) -> bool:
    async with found.fleet.fresh(found.cluster.control_planes[0]) as talos:
        await talos.machine.bootstrap()
    return True


async def _ready(lab: Lab, found: Plain) -> bool:
    """Every machine says of itself that it is ready."""
    host = lab.world.talos.host
    assert host
    ready = [node for node in host.fabric.nodes() if node.status.ready]
    members = await found.members()
    cluster = found.cluster
    return (len(ready), len(members)) == (len(cluster.nodes), len(cluster.control_planes))


async def _until(attempt: Callable[[], Awaitable[Any]]) -> None:
    """Machines boot and install: until then they refuse."""
    async with asyncio.timeout(240):
        while True:
            with contextlib.suppress(TalopsError):
                if await attempt():
                    return
            await asyncio.sleep(0.1)
