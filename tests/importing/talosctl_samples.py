"""Files as `talosctl gen config` writes them, one per node, patched with `talosctl machineconfig
patch`; the base of each is proven against the library in `test_judged_base.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.importing.base import Base
from talops.machineconfig import yamltext
from talops.machineconfig.contract import Contract
from talops.machineconfig.patches.reading import apply_patches, parse_patch

if TYPE_CHECKING:
    from talops.machineconfig.secrets.bundle import Bundle

SAMPLES = ("single", "ha", "gpu")
_FACTORY = "factory.talos.dev"
_ID = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
_NVIDIA = "5e0ac9d7e10ff9034bc4db865bf0337d40eeaec20683e27804939e1a88b7b654"
_NODE = """\
apiVersion: v1alpha1
kind: HostnameConfig
auto: "off"
hostname: {name}
---
machine:
  network:
    interfaces:
      - deviceSelector: {{hardwareAddr: "aa:bb:cc:00:03:{last}"}}
        addresses: [10.50.0.{last}/24]
        routes: [{{network: 0.0.0.0/0, gateway: 10.50.0.1}}]
"""
_LINKS = """\
apiVersion: v1alpha1
kind: HostnameConfig
auto: "off"
hostname: {name}
---
apiVersion: v1alpha1
kind: LinkAliasConfig
name: uplink
selector: {{match: 'mac(link.permanent_addr) == "aa:bb:cc:00:03:{last}"'}}
---
apiVersion: v1alpha1
kind: LinkConfig
name: uplink
up: true
---
apiVersion: v1alpha1
kind: VLANConfig
name: uplink.50
vlanID: 50
parent: uplink
addresses: [{{address: 10.50.0.{last}/24}}]
routes: [{{gateway: 10.50.0.1}}]
"""
_VIP = """\
---
apiVersion: v1alpha1
kind: Layer2VIPConfig
name: 10.50.0.10
link: uplink.50
"""
_DISKS = """\
---
apiVersion: v1alpha1
kind: UserVolumeConfig
name: data
provisioning:
  diskSelector: {match: "disk.transport == 'nvme' && !system_disk"}
  minSize: 50GiB
---
machine:
  kubelet:
    extraArgs: {rotate-server-certificates: "true"}
  sysctls: {vm.nr_hugepages: "1024"}
"""
_ENCRYPTED = """\
---
apiVersion: v1alpha1
kind: VolumeConfig
name: STATE
encryption: {provider: luks2, keys: [{slot: 0, tpm: {}}]}
---
apiVersion: v1alpha1
kind: VolumeConfig
name: EPHEMERAL
encryption: {provider: luks2, keys: [{slot: 0, tpm: {}}]}
"""
_DRIVERS = """\
---
machine:
  kernel: {modules: [{name: nvidia}, {name: nvidia_uvm}, {name: nvidia_drm}]}
  sysctls: {net.core.bpf_jit_harden: "1"}
"""


def files(size: str, bundle: Bundle) -> dict[str, str]:
    return {f"{name}.yaml": _text(size, bundle, **node) for name, node in _nodes(size).items()}


def _nodes(size: str) -> dict[str, dict[str, Any]]:
    if size == "single":
        return {"controlplane": {"name": "only", "last": 11, "patch": _NODE}}
    if size == "ha":
        planes = {f"cp-{i}": {"last": 10 + i, "patch": _LINKS + _VIP + _DISKS} for i in (1, 2, 3)}
        workers = {f"w-{i}": {"last": 20 + i, "patch": _LINKS + _DISKS} for i in (1, 2)}
        nodes = {**planes, **workers}
        return {name: {"name": name, **node} for name, node in nodes.items()}
    return {
        "cp-1": {"name": "cp-1", "last": 11, "patch": _NODE + _ENCRYPTED, "kind": "-secureboot"},
        "gpu-1": {
            "name": "gpu-1",
            "last": 21,
            "patch": _NODE + _ENCRYPTED + _DRIVERS,
            "kind": "-secureboot",
            "schematic": _NVIDIA,
        },
    }


def _text(
    size: str,
    bundle: Bundle,
    name: str,
    last: int,
    patch: str,
    kind: str = "",
    schematic: str = _ID,
) -> str:
    contract = {"single": Contract.V1_12, "ha": Contract.V1_13, "gpu": Contract.V1_13}[size]
    version = {"single": "v1.12.11"}.get(size, "v1.13.9")
    vip = "10.50.0.10" if size == "ha" else "10.50.0.11"
    base = Base(f"plain-{size}", f"https://{vip}:6443", contract, "v1.35.9", bundle)
    image = f"{_FACTORY}/metal-installer{kind}/{schematic}:{version}"
    controller = not name.startswith(("w-", "gpu-"))
    documents = base.documents(controller=controller, installer=image, disk="/dev/sda")
    # Formatted in two steps: only the part of the network has places for values.
    head, rule, rest = patch.partition("---\napiVersion: v1alpha1\nkind: Layer2VIPConfig")
    if not rule:
        for mark in (_DISKS, _ENCRYPTED):
            head, rule, rest = patch.partition(mark)
            if rule:
                break
    text = head.format(name=name, last=last) + rule + rest
    patched = apply_patches(documents, [parse_patch(text, where=name)], contract)
    return yamltext.dump_all(patched)
