"""The Talos versions and official extensions that the lab's factory knows."""

from __future__ import annotations

import hashlib

VERSIONS = (
    "v1.9.0",
    "v1.9.5",
    "v1.10.0",
    "v1.10.9",
    "v1.11.0",
    "v1.11.6",
    "v1.12.0",
    "v1.12.1",
    "v1.12.4",
    "v1.12.6",
    "v1.12.11",
    "v1.13.0",
    "v1.13.1",
    "v1.13.9",
    "v1.14.0-rc.1",
    "v1.14.0",
    "v1.14.1",
)
_NAMES = """
amd-ucode amdgpu amdgpu-firmware binfmt-misc bnx2-bnx2x btrfs crun drbd ecr-credential-provider
fuse3 gasket-driver glibc gvisor i915 i915-ucode intel-ice-firmware intel-ucode iscsi-tools
kata-containers mdadm mei nfs-utils nfsd nfsrahead nonfree-kmod-nvidia-lts
nonfree-kmod-nvidia-production nut-client nvidia-container-toolkit-lts
nvidia-container-toolkit-production nvidia-open-gpu-kernel-modules-lts
nvidia-open-gpu-kernel-modules-production qemu-guest-agent qlogic-firmware realtek-firmware
spin stargz-snapshotter tailscale thunderbolt trident-iscsi-tools uinput usb-modem-drivers
util-linux-tools v4l-uvc-drivers wasmedge xe xen-guest-agent zfs
"""
EXTENSIONS = frozenset(f"siderolabs/{name}" for name in _NAMES.split())


def extensions_of(version: str) -> list[dict[str, str]]:
    return [
        {
            "name": name,
            "ref": f"ghcr.io/{name}:{version.removeprefix('v')}",
            "digest": "sha256:" + hashlib.sha256(f"{name}:{version}".encode()).hexdigest(),
            "author": "Sidero Labs",
            "description": f"The {name.removeprefix('siderolabs/')} system extension.",
        }
        for name in sorted(EXTENSIONS)
    ]
