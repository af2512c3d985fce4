"""Every type this provider knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.lab.provider.data.access import Groups, Pools, Roles, Users
from talops.lab.provider.data.hardware import HardwarePci, PciMappingData
from talops.lab.provider.data.nodes import Node, Nodes, Version
from talops.lab.provider.data.storage import Datastores, File
from talops.lab.provider.data.vms import Vm, Vms
from talops.lab.provider.resources.access import Group, Role, User
from talops.lab.provider.resources.acl import Acl
from talops.lab.provider.resources.download_file import DownloadFile
from talops.lab.provider.resources.linux_network import LinuxBridge, LinuxVlan
from talops.lab.provider.resources.pci_mapping import PciMapping
from talops.lab.provider.resources.pool import Pool
from talops.lab.provider.resources.storage import KINDS, Storage
from talops.lab.provider.resources.user_token import UserToken
from talops.lab.provider.resources.vm import VirtualMachine

if TYPE_CHECKING:
    from talops.lab.provider.kinds import DataSource, Resource

_RESOURCES: list[Resource] = [
    Acl(),
    DownloadFile(),
    Group(),
    LinuxBridge(),
    LinuxVlan(),
    PciMapping(),
    Pool(),
    Role(),
    *(Storage(kind) for kind in KINDS),
    User(),
    UserToken(),
    VirtualMachine(),
]
_DATA_SOURCES: list[DataSource] = [
    Datastores(),
    File(),
    Groups(),
    HardwarePci(),
    Node(),
    Nodes(),
    PciMappingData(),
    Pools(),
    Roles(),
    Users(),
    Version(),
    Vm(),
    Vms(),
]

RESOURCES: dict[str, Resource] = {item.name: item for item in _RESOURCES}
DATA_SOURCES: dict[str, DataSource] = {item.name: item for item in _DATA_SOURCES}
