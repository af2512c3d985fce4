"""What NVIDIA GPUs need in a machine config."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.machineconfig.request import NodeRequest

_MODULES = ("nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset")
# Below Talos 1.13, whose container runtime does not know CDI, NVIDIA's own runtime gives GPUs to
# pods. It loads BPF programs, which the hardened JIT refuses.
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
    """NVIDIA's where the GPU is, and what the inventory asks for."""
    return list(dict.fromkeys([*(_MODULES if node.nvidia else ()), *node.kernel_modules]))
