"""The calls that a plan makes in the life of a VM, as the provider makes them (0.112.0)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.proxmox import storage, tasks

if TYPE_CHECKING:
    from talops.proxmox.client import Client

VM = 111
ISO = "local:iso/talos.iso"


async def life_of_a_vm(client: Client, url: str) -> None:
    here = f"nodes/pve/qemu/{VM}"
    await client.get("nodes/pve/storage/local/status")
    await client.get("nodes/pve/storage/local-lvm/status")
    await client.ask("GET", "nodes/pve/query-url-metadata", {"url": url})
    await storage.download(client, "pve", ISO, url)
    await tasks.run(client, "POST", "nodes/pve/qemu", CONFIG)
    await read(client, here)
    await tasks.run(client, "POST", f"{here}/status/start")
    await client.ask("PUT", f"{here}/config", {"name": "demo-cp-1", "tags": "demo;talos"})
    await client.ask("PUT", f"{here}/config", {"ide3": f"file={ISO},media=cdrom,"})
    await client.ask("PUT", f"{here}/cloudinit")
    await tasks.run(client, "PUT", f"{here}/resize", {"disk": "scsi0", "size": 40 << 30})
    await tasks.run(client, "POST", f"{here}/status/stop")
    await tasks.run(client, "DELETE", here, {"purge": 1, "destroy-unreferenced-disks": 1})
    await storage.remove(client, "pve", ISO)


async def read(client: Client, here: str) -> None:
    """Its config names no formats, so each disk is asked for its own."""
    config = await client.get(f"{here}/config")
    for drive in ("efidisk0", "scsi0"):
        volume = str(config[drive]).split(",", maxsplit=1)[0]
        await client.get(f"nodes/pve/storage/{volume.split(':')[0]}/content/{volume}")


CONFIG = {
    "vmid": VM,
    "name": "demo-cp-1",
    "bios": "ovmf",
    "machine": "q35",
    "scsihw": "virtio-scsi-single",
    "cores": 2,
    "cpu": "host",
    "memory": 2048,
    "balloon": 0,
    "serial0": "socket",
    "onboot": 1,
    "startup": "order=1",
    "efidisk0": "file=local-lvm:1,format=raw,efitype=4m,pre-enrolled-keys=0",
    "scsi0": "file=local-lvm:20,format=raw",
    "ide2": "file=local-lvm:cloudinit,",
    "ide3": f"file={ISO},media=cdrom,",
    "ipconfig0": "gw=10.0.0.1,ip=10.0.0.11/24",
    "nameserver": "1.1.1.1",
    "net0": "model=virtio,bridge=vmbr0,firewall=0",
    "tags": "demo",
}
