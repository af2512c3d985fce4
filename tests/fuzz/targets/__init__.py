"""What is attacked: one file per parser or client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fuzz.targets.chain import AuditChains
from tests.fuzz.targets.files import Files
from tests.fuzz.targets.inventories import Inventories
from tests.fuzz.targets.kubernetes import Kubernetes
from tests.fuzz.targets.proxmox import Proxmox
from tests.fuzz.targets.state_client import StateClient
from tests.fuzz.targets.state_server import StateServer
from tests.fuzz.targets.talos import TalosNode

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fuzz.campaign import Target

TARGETS: dict[str, Callable[[], Target]] = {
    "audit": AuditChains,
    "files": Files,
    "inventory": Inventories,
    "kubernetes": Kubernetes,
    "proxmox": Proxmox,
    "state-client": StateClient,
    "state-server": StateServer,
    "talos": TalosNode,
}
