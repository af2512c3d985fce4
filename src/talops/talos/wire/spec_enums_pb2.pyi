from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class MachineType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TYPE_UNKNOWN: _ClassVar[MachineType]
    TYPE_INIT: _ClassVar[MachineType]
    TYPE_CONTROL_PLANE: _ClassVar[MachineType]
    TYPE_WORKER: _ClassVar[MachineType]

class RuntimeMachineStage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MACHINE_STAGE_UNKNOWN: _ClassVar[RuntimeMachineStage]
    MACHINE_STAGE_BOOTING: _ClassVar[RuntimeMachineStage]
    MACHINE_STAGE_INSTALLING: _ClassVar[RuntimeMachineStage]
    MACHINE_STAGE_MAINTENANCE: _ClassVar[RuntimeMachineStage]
    MACHINE_STAGE_RUNNING: _ClassVar[RuntimeMachineStage]
    MACHINE_STAGE_REBOOTING: _ClassVar[RuntimeMachineStage]
    MACHINE_STAGE_SHUTTING_DOWN: _ClassVar[RuntimeMachineStage]
    MACHINE_STAGE_RESETTING: _ClassVar[RuntimeMachineStage]
    MACHINE_STAGE_UPGRADING: _ClassVar[RuntimeMachineStage]

class RuntimeSELinuxState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SE_LINUX_STATE_DISABLED: _ClassVar[RuntimeSELinuxState]
    SE_LINUX_STATE_PERMISSIVE: _ClassVar[RuntimeSELinuxState]
    SE_LINUX_STATE_ENFORCING: _ClassVar[RuntimeSELinuxState]

class RuntimeFIPSState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FIPS_STATE_DISABLED: _ClassVar[RuntimeFIPSState]
    FIPS_STATE_ENABLED: _ClassVar[RuntimeFIPSState]
    FIPS_STATE_STRICT: _ClassVar[RuntimeFIPSState]

class NethelpersFamily(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NETHELPERS_FAMILY_UNSPECIFIED: _ClassVar[NethelpersFamily]
    FAMILY_INET4: _ClassVar[NethelpersFamily]
    FAMILY_INET6: _ClassVar[NethelpersFamily]

class NethelpersScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SCOPE_GLOBAL: _ClassVar[NethelpersScope]
    SCOPE_SITE: _ClassVar[NethelpersScope]
    SCOPE_LINK: _ClassVar[NethelpersScope]
    SCOPE_HOST: _ClassVar[NethelpersScope]
    SCOPE_NOWHERE: _ClassVar[NethelpersScope]

class NethelpersOperationalState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OPER_STATE_UNKNOWN: _ClassVar[NethelpersOperationalState]
    OPER_STATE_NOT_PRESENT: _ClassVar[NethelpersOperationalState]
    OPER_STATE_DOWN: _ClassVar[NethelpersOperationalState]
    OPER_STATE_LOWER_LAYER_DOWN: _ClassVar[NethelpersOperationalState]
    OPER_STATE_TESTING: _ClassVar[NethelpersOperationalState]
    OPER_STATE_DORMANT: _ClassVar[NethelpersOperationalState]
    OPER_STATE_UP: _ClassVar[NethelpersOperationalState]

class NethelpersLinkType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LINK_NETROM: _ClassVar[NethelpersLinkType]
    LINK_ETHER: _ClassVar[NethelpersLinkType]
    LINK_INFINIBAND: _ClassVar[NethelpersLinkType]
    LINK_PPP: _ClassVar[NethelpersLinkType]
    LINK_TUNNEL: _ClassVar[NethelpersLinkType]
    LINK_TUNNEL6: _ClassVar[NethelpersLinkType]
    LINK_LOOPBCK: _ClassVar[NethelpersLinkType]
    LINK_SIT: _ClassVar[NethelpersLinkType]
    LINK_NONE: _ClassVar[NethelpersLinkType]
    LINK_VOID: _ClassVar[NethelpersLinkType]

class NethelpersDuplex(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HALF: _ClassVar[NethelpersDuplex]
    FULL: _ClassVar[NethelpersDuplex]
    UNKNOWN: _ClassVar[NethelpersDuplex]

class NethelpersPort(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TWISTED_PAIR: _ClassVar[NethelpersPort]
    AUI: _ClassVar[NethelpersPort]
    MII: _ClassVar[NethelpersPort]
    FIBRE: _ClassVar[NethelpersPort]
    BNC: _ClassVar[NethelpersPort]
    DIRECT_ATTACH: _ClassVar[NethelpersPort]
    NONE: _ClassVar[NethelpersPort]
    OTHER: _ClassVar[NethelpersPort]

class NethelpersRouteType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TYPE_UNSPEC: _ClassVar[NethelpersRouteType]
    TYPE_UNICAST: _ClassVar[NethelpersRouteType]
    TYPE_LOCAL: _ClassVar[NethelpersRouteType]
    TYPE_BROADCAST: _ClassVar[NethelpersRouteType]
    TYPE_ANYCAST: _ClassVar[NethelpersRouteType]
    TYPE_MULTICAST: _ClassVar[NethelpersRouteType]
    TYPE_BLACKHOLE: _ClassVar[NethelpersRouteType]
    TYPE_UNREACHABLE: _ClassVar[NethelpersRouteType]

class NethelpersRouteProtocol(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROTOCOL_UNSPEC: _ClassVar[NethelpersRouteProtocol]
    PROTOCOL_REDIRECT: _ClassVar[NethelpersRouteProtocol]
    PROTOCOL_KERNEL: _ClassVar[NethelpersRouteProtocol]
    PROTOCOL_BOOT: _ClassVar[NethelpersRouteProtocol]
    PROTOCOL_STATIC: _ClassVar[NethelpersRouteProtocol]
    PROTOCOL_RA: _ClassVar[NethelpersRouteProtocol]
    PROTOCOL_DHCP: _ClassVar[NethelpersRouteProtocol]
    PROTOCOL_BGP: _ClassVar[NethelpersRouteProtocol]

class NethelpersVLANProtocol(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NETHELPERS_VLANPROTOCOL_UNSPECIFIED: _ClassVar[NethelpersVLANProtocol]
    VLAN_PROTOCOL8021_Q: _ClassVar[NethelpersVLANProtocol]
    VLAN_PROTOCOL8021_AD: _ClassVar[NethelpersVLANProtocol]

class NethelpersAddressSortAlgorithm(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ADDRESS_SORT_ALGORITHM_V1: _ClassVar[NethelpersAddressSortAlgorithm]
    ADDRESS_SORT_ALGORITHM_V2: _ClassVar[NethelpersAddressSortAlgorithm]

class NethelpersDNSProtocol(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DNS_PROTOCOL_DEFAULT: _ClassVar[NethelpersDNSProtocol]
    DNS_PROTOCOL_DNS_OVER_TLS: _ClassVar[NethelpersDNSProtocol]
    DNS_PROTOCOL_DNS_OVER_HTTP: _ClassVar[NethelpersDNSProtocol]

class BlockVolumePhase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VOLUME_PHASE_WAITING: _ClassVar[BlockVolumePhase]
    VOLUME_PHASE_FAILED: _ClassVar[BlockVolumePhase]
    VOLUME_PHASE_MISSING: _ClassVar[BlockVolumePhase]
    VOLUME_PHASE_LOCATED: _ClassVar[BlockVolumePhase]
    VOLUME_PHASE_PROVISIONED: _ClassVar[BlockVolumePhase]
    VOLUME_PHASE_PREPARED: _ClassVar[BlockVolumePhase]
    VOLUME_PHASE_READY: _ClassVar[BlockVolumePhase]
    VOLUME_PHASE_CLOSED: _ClassVar[BlockVolumePhase]

class BlockVolumeType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VOLUME_TYPE_PARTITION: _ClassVar[BlockVolumeType]
    VOLUME_TYPE_DISK: _ClassVar[BlockVolumeType]
    VOLUME_TYPE_TMPFS: _ClassVar[BlockVolumeType]
    VOLUME_TYPE_DIRECTORY: _ClassVar[BlockVolumeType]
    VOLUME_TYPE_SYMLINK: _ClassVar[BlockVolumeType]
    VOLUME_TYPE_OVERLAY: _ClassVar[BlockVolumeType]
    VOLUME_TYPE_EXTERNAL: _ClassVar[BlockVolumeType]

class BlockFilesystemType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FILESYSTEM_TYPE_NONE: _ClassVar[BlockFilesystemType]
    FILESYSTEM_TYPE_XFS: _ClassVar[BlockFilesystemType]
    FILESYSTEM_TYPE_VFAT: _ClassVar[BlockFilesystemType]
    FILESYSTEM_TYPE_EXT4: _ClassVar[BlockFilesystemType]
    FILESYSTEM_TYPE_ISO9660: _ClassVar[BlockFilesystemType]
    FILESYSTEM_TYPE_SWAP: _ClassVar[BlockFilesystemType]
    FILESYSTEM_TYPE_VIRTIOFS: _ClassVar[BlockFilesystemType]
    FILESYSTEM_TYPE_BTRFS: _ClassVar[BlockFilesystemType]

class BlockEncryptionProviderType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENCRYPTION_PROVIDER_NONE: _ClassVar[BlockEncryptionProviderType]
    ENCRYPTION_PROVIDER_LUKS2: _ClassVar[BlockEncryptionProviderType]

class RuntimeUnattendedInstallPhase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNATTENDED_INSTALL_PHASE_PENDING: _ClassVar[RuntimeUnattendedInstallPhase]
    UNATTENDED_INSTALL_PHASE_INSTALLING: _ClassVar[RuntimeUnattendedInstallPhase]
    UNATTENDED_INSTALL_PHASE_INSTALLED: _ClassVar[RuntimeUnattendedInstallPhase]
    UNATTENDED_INSTALL_PHASE_WAITING_FOR_REBOOT: _ClassVar[RuntimeUnattendedInstallPhase]
    UNATTENDED_INSTALL_PHASE_FAILED: _ClassVar[RuntimeUnattendedInstallPhase]
TYPE_UNKNOWN: MachineType
TYPE_INIT: MachineType
TYPE_CONTROL_PLANE: MachineType
TYPE_WORKER: MachineType
MACHINE_STAGE_UNKNOWN: RuntimeMachineStage
MACHINE_STAGE_BOOTING: RuntimeMachineStage
MACHINE_STAGE_INSTALLING: RuntimeMachineStage
MACHINE_STAGE_MAINTENANCE: RuntimeMachineStage
MACHINE_STAGE_RUNNING: RuntimeMachineStage
MACHINE_STAGE_REBOOTING: RuntimeMachineStage
MACHINE_STAGE_SHUTTING_DOWN: RuntimeMachineStage
MACHINE_STAGE_RESETTING: RuntimeMachineStage
MACHINE_STAGE_UPGRADING: RuntimeMachineStage
SE_LINUX_STATE_DISABLED: RuntimeSELinuxState
SE_LINUX_STATE_PERMISSIVE: RuntimeSELinuxState
SE_LINUX_STATE_ENFORCING: RuntimeSELinuxState
FIPS_STATE_DISABLED: RuntimeFIPSState
FIPS_STATE_ENABLED: RuntimeFIPSState
FIPS_STATE_STRICT: RuntimeFIPSState
NETHELPERS_FAMILY_UNSPECIFIED: NethelpersFamily
FAMILY_INET4: NethelpersFamily
FAMILY_INET6: NethelpersFamily
SCOPE_GLOBAL: NethelpersScope
SCOPE_SITE: NethelpersScope
SCOPE_LINK: NethelpersScope
SCOPE_HOST: NethelpersScope
SCOPE_NOWHERE: NethelpersScope
OPER_STATE_UNKNOWN: NethelpersOperationalState
OPER_STATE_NOT_PRESENT: NethelpersOperationalState
OPER_STATE_DOWN: NethelpersOperationalState
OPER_STATE_LOWER_LAYER_DOWN: NethelpersOperationalState
OPER_STATE_TESTING: NethelpersOperationalState
OPER_STATE_DORMANT: NethelpersOperationalState
OPER_STATE_UP: NethelpersOperationalState
LINK_NETROM: NethelpersLinkType
LINK_ETHER: NethelpersLinkType
LINK_INFINIBAND: NethelpersLinkType
LINK_PPP: NethelpersLinkType
LINK_TUNNEL: NethelpersLinkType
LINK_TUNNEL6: NethelpersLinkType
LINK_LOOPBCK: NethelpersLinkType
LINK_SIT: NethelpersLinkType
LINK_NONE: NethelpersLinkType
LINK_VOID: NethelpersLinkType
HALF: NethelpersDuplex
FULL: NethelpersDuplex
UNKNOWN: NethelpersDuplex
TWISTED_PAIR: NethelpersPort
AUI: NethelpersPort
MII: NethelpersPort
FIBRE: NethelpersPort
BNC: NethelpersPort
DIRECT_ATTACH: NethelpersPort
NONE: NethelpersPort
OTHER: NethelpersPort
TYPE_UNSPEC: NethelpersRouteType
TYPE_UNICAST: NethelpersRouteType
TYPE_LOCAL: NethelpersRouteType
TYPE_BROADCAST: NethelpersRouteType
TYPE_ANYCAST: NethelpersRouteType
TYPE_MULTICAST: NethelpersRouteType
TYPE_BLACKHOLE: NethelpersRouteType
TYPE_UNREACHABLE: NethelpersRouteType
PROTOCOL_UNSPEC: NethelpersRouteProtocol
PROTOCOL_REDIRECT: NethelpersRouteProtocol
PROTOCOL_KERNEL: NethelpersRouteProtocol
PROTOCOL_BOOT: NethelpersRouteProtocol
PROTOCOL_STATIC: NethelpersRouteProtocol
PROTOCOL_RA: NethelpersRouteProtocol
PROTOCOL_DHCP: NethelpersRouteProtocol
PROTOCOL_BGP: NethelpersRouteProtocol
NETHELPERS_VLANPROTOCOL_UNSPECIFIED: NethelpersVLANProtocol
VLAN_PROTOCOL8021_Q: NethelpersVLANProtocol
VLAN_PROTOCOL8021_AD: NethelpersVLANProtocol
ADDRESS_SORT_ALGORITHM_V1: NethelpersAddressSortAlgorithm
ADDRESS_SORT_ALGORITHM_V2: NethelpersAddressSortAlgorithm
DNS_PROTOCOL_DEFAULT: NethelpersDNSProtocol
DNS_PROTOCOL_DNS_OVER_TLS: NethelpersDNSProtocol
DNS_PROTOCOL_DNS_OVER_HTTP: NethelpersDNSProtocol
VOLUME_PHASE_WAITING: BlockVolumePhase
VOLUME_PHASE_FAILED: BlockVolumePhase
VOLUME_PHASE_MISSING: BlockVolumePhase
VOLUME_PHASE_LOCATED: BlockVolumePhase
VOLUME_PHASE_PROVISIONED: BlockVolumePhase
VOLUME_PHASE_PREPARED: BlockVolumePhase
VOLUME_PHASE_READY: BlockVolumePhase
VOLUME_PHASE_CLOSED: BlockVolumePhase
VOLUME_TYPE_PARTITION: BlockVolumeType
VOLUME_TYPE_DISK: BlockVolumeType
VOLUME_TYPE_TMPFS: BlockVolumeType
VOLUME_TYPE_DIRECTORY: BlockVolumeType
VOLUME_TYPE_SYMLINK: BlockVolumeType
VOLUME_TYPE_OVERLAY: BlockVolumeType
VOLUME_TYPE_EXTERNAL: BlockVolumeType
FILESYSTEM_TYPE_NONE: BlockFilesystemType
FILESYSTEM_TYPE_XFS: BlockFilesystemType
FILESYSTEM_TYPE_VFAT: BlockFilesystemType
FILESYSTEM_TYPE_EXT4: BlockFilesystemType
FILESYSTEM_TYPE_ISO9660: BlockFilesystemType
FILESYSTEM_TYPE_SWAP: BlockFilesystemType
FILESYSTEM_TYPE_VIRTIOFS: BlockFilesystemType
FILESYSTEM_TYPE_BTRFS: BlockFilesystemType
ENCRYPTION_PROVIDER_NONE: BlockEncryptionProviderType
ENCRYPTION_PROVIDER_LUKS2: BlockEncryptionProviderType
UNATTENDED_INSTALL_PHASE_PENDING: RuntimeUnattendedInstallPhase
UNATTENDED_INSTALL_PHASE_INSTALLING: RuntimeUnattendedInstallPhase
UNATTENDED_INSTALL_PHASE_INSTALLED: RuntimeUnattendedInstallPhase
UNATTENDED_INSTALL_PHASE_WAITING_FOR_REBOOT: RuntimeUnattendedInstallPhase
UNATTENDED_INSTALL_PHASE_FAILED: RuntimeUnattendedInstallPhase
