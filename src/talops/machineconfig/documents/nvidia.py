"""Machine config settings for NVIDIA GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.machineconfig.request import NodeRequest

_MODULES = ("nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset")
# Before Talos 1.13 the container runtime does not support CDI; the NVIDIA runtime passes GPUs to
# pods and loads BPF programs, which the hardened JIT rejects.
RUNTIME_SYSCTLS = {"net.core.bpf_jit_harden": "1"}
RUNTIME_CLASS = {
    "name": "nvidia-runtime-class",
    "contents": """\
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata:
  name: nvidia
handler: nvidia
""",
}


def kernel_modules(node: NodeRequest) -> list[str]:
    """NVIDIA modules on nodes with a GPU, and the modules of the inventory."""
    return list(dict.fromkeys([*(_MODULES if node.nvidia else ()), *node.kernel_modules]))
