"""The blocks of a VM as parameters for Proxmox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.provider import options
from talops.lab.provider.kinds import refuse
from talops.lab.provider.resources.vm.drives import Drive

if TYPE_CHECKING:
    from talops.lab.provider.schema import NestedBlock
    from talops.lab.provider.values import Values


def first(values: Values, name: str) -> Values | None:
    """The only element of a block that may be there once."""
    found = values.get(name) or []
    return found[0] if found else None


def defaults(nested: NestedBlock) -> Values:
    out: Values = {name: item.default for name, item in nested.block.attributes.items()}
    return out | {name: [] for name in nested.block.blocks}


def agent(block: Values) -> dict[str, str]:
    told = {
        "enabled": block["enabled"],
        "fstrim_cloned_disks": block["trim"],
        "type": block["type"],
    }
    return {"agent": options.join(told)}


def cpu(block: Values) -> dict[str, str]:
    if block["architecture"]:
        refuse("cpu.architecture can be set by root@pam only")
    flags = block["flags"] or []
    kind = f"cputype={block['type']},flags={';'.join(flags)}" if flags else block["type"]
    out = {
        "cores": options.plain(block["cores"]),
        "cpu": kind,
        "numa": options.plain(block["numa"]),
        "sockets": options.plain(block["sockets"]),
    }
    extra = {"hotplugged": "vcpus", "limit": "cpulimit", "units": "cpuunits"}
    return out | {key: options.plain(block[name]) for name, key in extra.items() if block[name]}


def memory(vmid: int, block: Values) -> dict[str, str]:
    out = {
        "balloon": options.plain(block["floating"]),
        "memory": options.plain(block["dedicated"]),
    }
    if block["shared"]:
        out["ivshmem"] = f"name=vm-{vmid}-ivshmem,size={options.plain(block['shared'])}"
    if block["hugepages"]:
        out["hugepages"] = block["hugepages"]
    return out | ({"keephugepages": "1"} if block["keep_hugepages"] else {})


def cdrom(block: Values) -> dict[str, str]:
    drive = Drive(block["file_id"] or "cdrom", media="cdrom")
    return {block["interface"]: drive.text()}


def efi_disk(block: Values) -> dict[str, str]:
    told = {
        "file": f"{block['datastore_id']}:1",
        "format": block.get("file_format") or "raw",
        "efitype": block["type"],
        "pre-enrolled-keys": block["pre_enrolled_keys"],
    }
    return {"efidisk0": options.join(told)}


def tpm_state(block: Values) -> dict[str, str]:
    told = {"file": f"{block['datastore_id']}:1", "version": block["version"] or "v2.0"}
    return {"tpmstate0": options.join(told)}


def host_pci(blocks: list[Values]) -> dict[str, str]:
    return {block["device"]: _pci(block) for block in blocks}


def _pci(block: Values) -> str:
    if not block["id"] and not block["mapping"]:
        refuse(f"hostpci {block['device']}: either id or mapping must be set")
    return options.join(
        {
            "host": block["id"] or None,
            "mapping": block["mapping"] or None,
            "mdev": block["mdev"] or None,
            "pcie": bool(block["pcie"]),
            "rombar": bool(block["rombar"]),
            "romfile": block["rom_file"] or None,
            "x-vga": bool(block["xvga"]),
        }
    )


def networks(blocks: list[Values]) -> dict[str, str]:
    return {f"net{i}": _network(block) for i, block in enumerate(blocks) if block["enabled"]}


def _network(block: Values) -> str:
    def given(name: str) -> Any:
        return block[name] or None

    return options.join(
        {
            "model": block["model"],
            "bridge": given("bridge"),
            "firewall": bool(block["firewall"]),
            "link_down": given("disconnected"),
            "macaddr": given("mac_address"),
            "queues": given("queues"),
            "rate": given("rate_limit"),
            "tag": given("vlan_id"),
            "mtu": given("mtu"),
            "trunks": given("trunks"),
        }
    )


def serials(blocks: list[Values]) -> dict[str, str]:
    return {f"serial{i}": block["device"] for i, block in enumerate(blocks)}


def startup(block: Values) -> dict[str, str]:
    keys = {"order": "order", "up": "up_delay", "down": "down_delay"}
    told = {key: block[name] for key, name in keys.items() if block[name] >= 0}
    return {"startup": options.join(told)} if told else {}


def vga(block: Values) -> dict[str, str]:
    told = {
        "clipboard": block["clipboard"] or None,
        "memory": block["memory"] or None,
        "type": block["type"] or None,
    }
    return {"vga": options.join(told)}


def boot(order: list[str]) -> dict[str, str]:
    return {"boot": f"order={';'.join(order)}"}


def tags(names: list[str]) -> dict[str, str]:
    return {"tags": ";".join(sorted(name.strip() for name in names if name.strip()))}
