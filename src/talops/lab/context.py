"""The context of every service of a lab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.lab.faults import Faults
    from talops.lab.layout import Layout
    from talops.lab.network import Network
    from talops.lab.pki import Authority
    from talops.lab.proxmox.seed import Credentials
    from talops.lab.spec import LabSpec


@dataclass(frozen=True)
class LabContext:
    """Directory, addresses, certificate authority and faults of a lab."""

    spec: LabSpec
    layout: Layout
    network: Network
    authority: Authority
    credentials: Credentials
    faults: Faults
