from talops.talos.wire import common_pb2 as _common_pb2
from talops.talos.wire import spec_enums_pb2 as _spec_enums_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AddressStatusSpec(_message.Message):
    __slots__ = ("address", "local", "broadcast", "anycast", "multicast", "link_index", "link_name", "family", "scope", "flags", "priority")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    LOCAL_FIELD_NUMBER: _ClassVar[int]
    BROADCAST_FIELD_NUMBER: _ClassVar[int]
    ANYCAST_FIELD_NUMBER: _ClassVar[int]
    MULTICAST_FIELD_NUMBER: _ClassVar[int]
    LINK_INDEX_FIELD_NUMBER: _ClassVar[int]
    LINK_NAME_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    address: _common_pb2.NetIPPrefix
    local: _common_pb2.NetIP
    broadcast: _common_pb2.NetIP
    anycast: _common_pb2.NetIP
    multicast: _common_pb2.NetIP
    link_index: int
    link_name: str
    family: _spec_enums_pb2.NethelpersFamily
    scope: _spec_enums_pb2.NethelpersScope
    flags: int
    priority: int
    def __init__(self, address: _Optional[_Union[_common_pb2.NetIPPrefix, _Mapping]] = ..., local: _Optional[_Union[_common_pb2.NetIP, _Mapping]] = ..., broadcast: _Optional[_Union[_common_pb2.NetIP, _Mapping]] = ..., anycast: _Optional[_Union[_common_pb2.NetIP, _Mapping]] = ..., multicast: _Optional[_Union[_common_pb2.NetIP, _Mapping]] = ..., link_index: _Optional[int] = ..., link_name: _Optional[str] = ..., family: _Optional[_Union[_spec_enums_pb2.NethelpersFamily, str]] = ..., scope: _Optional[_Union[_spec_enums_pb2.NethelpersScope, str]] = ..., flags: _Optional[int] = ..., priority: _Optional[int] = ...) -> None: ...

class VLANSpec(_message.Message):
    __slots__ = ("vid", "protocol")
    VID_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    vid: int
    protocol: _spec_enums_pb2.NethelpersVLANProtocol
    def __init__(self, vid: _Optional[int] = ..., protocol: _Optional[_Union[_spec_enums_pb2.NethelpersVLANProtocol, str]] = ...) -> None: ...

class STPSpec(_message.Message):
    __slots__ = ("enabled",)
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    def __init__(self, enabled: bool = ...) -> None: ...

class BridgeVLANSpec(_message.Message):
    __slots__ = ("filtering_enabled",)
    FILTERING_ENABLED_FIELD_NUMBER: _ClassVar[int]
    filtering_enabled: bool
    def __init__(self, filtering_enabled: bool = ...) -> None: ...

class BridgeMasterSpec(_message.Message):
    __slots__ = ("stp", "vlan")
    STP_FIELD_NUMBER: _ClassVar[int]
    VLAN_FIELD_NUMBER: _ClassVar[int]
    stp: STPSpec
    vlan: BridgeVLANSpec
    def __init__(self, stp: _Optional[_Union[STPSpec, _Mapping]] = ..., vlan: _Optional[_Union[BridgeVLANSpec, _Mapping]] = ...) -> None: ...

class LinkStatusSpec(_message.Message):
    __slots__ = ("index", "type", "link_index", "flags", "hardware_addr", "broadcast_addr", "mtu", "queue_disc", "master_index", "operational_state", "kind", "slave_kind", "bus_path", "pciid", "driver", "driver_version", "firmware_version", "product_id", "vendor_id", "product", "vendor", "link_state", "speed_megabits", "port", "duplex", "vlan", "bridge_master", "permanent_addr", "alias", "alt_names")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    LINK_INDEX_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    HARDWARE_ADDR_FIELD_NUMBER: _ClassVar[int]
    BROADCAST_ADDR_FIELD_NUMBER: _ClassVar[int]
    MTU_FIELD_NUMBER: _ClassVar[int]
    QUEUE_DISC_FIELD_NUMBER: _ClassVar[int]
    MASTER_INDEX_FIELD_NUMBER: _ClassVar[int]
    OPERATIONAL_STATE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SLAVE_KIND_FIELD_NUMBER: _ClassVar[int]
    BUS_PATH_FIELD_NUMBER: _ClassVar[int]
    PCIID_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    DRIVER_VERSION_FIELD_NUMBER: _ClassVar[int]
    FIRMWARE_VERSION_FIELD_NUMBER: _ClassVar[int]
    PRODUCT_ID_FIELD_NUMBER: _ClassVar[int]
    VENDOR_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCT_FIELD_NUMBER: _ClassVar[int]
    VENDOR_FIELD_NUMBER: _ClassVar[int]
    LINK_STATE_FIELD_NUMBER: _ClassVar[int]
    SPEED_MEGABITS_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    DUPLEX_FIELD_NUMBER: _ClassVar[int]
    VLAN_FIELD_NUMBER: _ClassVar[int]
    BRIDGE_MASTER_FIELD_NUMBER: _ClassVar[int]
    PERMANENT_ADDR_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    ALT_NAMES_FIELD_NUMBER: _ClassVar[int]
    index: int
    type: _spec_enums_pb2.NethelpersLinkType
    link_index: int
    flags: int
    hardware_addr: bytes
    broadcast_addr: bytes
    mtu: int
    queue_disc: str
    master_index: int
    operational_state: _spec_enums_pb2.NethelpersOperationalState
    kind: str
    slave_kind: str
    bus_path: str
    pciid: str
    driver: str
    driver_version: str
    firmware_version: str
    product_id: str
    vendor_id: str
    product: str
    vendor: str
    link_state: bool
    speed_megabits: int
    port: _spec_enums_pb2.NethelpersPort
    duplex: _spec_enums_pb2.NethelpersDuplex
    vlan: VLANSpec
    bridge_master: BridgeMasterSpec
    permanent_addr: bytes
    alias: str
    alt_names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, index: _Optional[int] = ..., type: _Optional[_Union[_spec_enums_pb2.NethelpersLinkType, str]] = ..., link_index: _Optional[int] = ..., flags: _Optional[int] = ..., hardware_addr: _Optional[bytes] = ..., broadcast_addr: _Optional[bytes] = ..., mtu: _Optional[int] = ..., queue_disc: _Optional[str] = ..., master_index: _Optional[int] = ..., operational_state: _Optional[_Union[_spec_enums_pb2.NethelpersOperationalState, str]] = ..., kind: _Optional[str] = ..., slave_kind: _Optional[str] = ..., bus_path: _Optional[str] = ..., pciid: _Optional[str] = ..., driver: _Optional[str] = ..., driver_version: _Optional[str] = ..., firmware_version: _Optional[str] = ..., product_id: _Optional[str] = ..., vendor_id: _Optional[str] = ..., product: _Optional[str] = ..., vendor: _Optional[str] = ..., link_state: bool = ..., speed_megabits: _Optional[int] = ..., port: _Optional[_Union[_spec_enums_pb2.NethelpersPort, str]] = ..., duplex: _Optional[_Union[_spec_enums_pb2.NethelpersDuplex, str]] = ..., vlan: _Optional[_Union[VLANSpec, _Mapping]] = ..., bridge_master: _Optional[_Union[BridgeMasterSpec, _Mapping]] = ..., permanent_addr: _Optional[bytes] = ..., alias: _Optional[str] = ..., alt_names: _Optional[_Iterable[str]] = ...) -> None: ...

class RouteStatusSpec(_message.Message):
    __slots__ = ("family", "destination", "source", "gateway", "out_link_index", "out_link_name", "table", "priority", "scope", "type", "flags", "protocol", "mtu")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    DESTINATION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    GATEWAY_FIELD_NUMBER: _ClassVar[int]
    OUT_LINK_INDEX_FIELD_NUMBER: _ClassVar[int]
    OUT_LINK_NAME_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    MTU_FIELD_NUMBER: _ClassVar[int]
    family: _spec_enums_pb2.NethelpersFamily
    destination: _common_pb2.NetIPPrefix
    source: _common_pb2.NetIP
    gateway: _common_pb2.NetIP
    out_link_index: int
    out_link_name: str
    table: int
    priority: int
    scope: _spec_enums_pb2.NethelpersScope
    type: _spec_enums_pb2.NethelpersRouteType
    flags: int
    protocol: _spec_enums_pb2.NethelpersRouteProtocol
    mtu: int
    def __init__(self, family: _Optional[_Union[_spec_enums_pb2.NethelpersFamily, str]] = ..., destination: _Optional[_Union[_common_pb2.NetIPPrefix, _Mapping]] = ..., source: _Optional[_Union[_common_pb2.NetIP, _Mapping]] = ..., gateway: _Optional[_Union[_common_pb2.NetIP, _Mapping]] = ..., out_link_index: _Optional[int] = ..., out_link_name: _Optional[str] = ..., table: _Optional[int] = ..., priority: _Optional[int] = ..., scope: _Optional[_Union[_spec_enums_pb2.NethelpersScope, str]] = ..., type: _Optional[_Union[_spec_enums_pb2.NethelpersRouteType, str]] = ..., flags: _Optional[int] = ..., protocol: _Optional[_Union[_spec_enums_pb2.NethelpersRouteProtocol, str]] = ..., mtu: _Optional[int] = ...) -> None: ...

class HostnameStatusSpec(_message.Message):
    __slots__ = ("hostname", "domainname")
    HOSTNAME_FIELD_NUMBER: _ClassVar[int]
    DOMAINNAME_FIELD_NUMBER: _ClassVar[int]
    hostname: str
    domainname: str
    def __init__(self, hostname: _Optional[str] = ..., domainname: _Optional[str] = ...) -> None: ...

class NameServerSpec(_message.Message):
    __slots__ = ("addr", "protocol", "tls_server_name")
    ADDR_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    TLS_SERVER_NAME_FIELD_NUMBER: _ClassVar[int]
    addr: _common_pb2.NetIP
    protocol: _spec_enums_pb2.NethelpersDNSProtocol
    tls_server_name: str
    def __init__(self, addr: _Optional[_Union[_common_pb2.NetIP, _Mapping]] = ..., protocol: _Optional[_Union[_spec_enums_pb2.NethelpersDNSProtocol, str]] = ..., tls_server_name: _Optional[str] = ...) -> None: ...

class ResolverStatusSpec(_message.Message):
    __slots__ = ("dns_servers", "search_domains", "name_servers")
    DNS_SERVERS_FIELD_NUMBER: _ClassVar[int]
    SEARCH_DOMAINS_FIELD_NUMBER: _ClassVar[int]
    NAME_SERVERS_FIELD_NUMBER: _ClassVar[int]
    dns_servers: _containers.RepeatedCompositeFieldContainer[_common_pb2.NetIP]
    search_domains: _containers.RepeatedScalarFieldContainer[str]
    name_servers: _containers.RepeatedCompositeFieldContainer[NameServerSpec]
    def __init__(self, dns_servers: _Optional[_Iterable[_Union[_common_pb2.NetIP, _Mapping]]] = ..., search_domains: _Optional[_Iterable[str]] = ..., name_servers: _Optional[_Iterable[_Union[NameServerSpec, _Mapping]]] = ...) -> None: ...

class TimeServerStatusSpec(_message.Message):
    __slots__ = ("ntp_servers", "use_nts")
    NTP_SERVERS_FIELD_NUMBER: _ClassVar[int]
    USE_NTS_FIELD_NUMBER: _ClassVar[int]
    ntp_servers: _containers.RepeatedScalarFieldContainer[str]
    use_nts: bool
    def __init__(self, ntp_servers: _Optional[_Iterable[str]] = ..., use_nts: bool = ...) -> None: ...

class NodeAddressSpec(_message.Message):
    __slots__ = ("addresses", "sort_algorithm")
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    SORT_ALGORITHM_FIELD_NUMBER: _ClassVar[int]
    addresses: _containers.RepeatedCompositeFieldContainer[_common_pb2.NetIPPrefix]
    sort_algorithm: _spec_enums_pb2.NethelpersAddressSortAlgorithm
    def __init__(self, addresses: _Optional[_Iterable[_Union[_common_pb2.NetIPPrefix, _Mapping]]] = ..., sort_algorithm: _Optional[_Union[_spec_enums_pb2.NethelpersAddressSortAlgorithm, str]] = ...) -> None: ...

class StatusSpec(_message.Message):
    __slots__ = ("address_ready", "connectivity_ready", "hostname_ready", "etc_files_ready")
    ADDRESS_READY_FIELD_NUMBER: _ClassVar[int]
    CONNECTIVITY_READY_FIELD_NUMBER: _ClassVar[int]
    HOSTNAME_READY_FIELD_NUMBER: _ClassVar[int]
    ETC_FILES_READY_FIELD_NUMBER: _ClassVar[int]
    address_ready: bool
    connectivity_ready: bool
    hostname_ready: bool
    etc_files_ready: bool
    def __init__(self, address_ready: bool = ..., connectivity_ready: bool = ..., hostname_ready: bool = ..., etc_files_ready: bool = ...) -> None: ...

class HardwareAddrSpec(_message.Message):
    __slots__ = ("name", "hardware_addr")
    NAME_FIELD_NUMBER: _ClassVar[int]
    HARDWARE_ADDR_FIELD_NUMBER: _ClassVar[int]
    name: str
    hardware_addr: bytes
    def __init__(self, name: _Optional[str] = ..., hardware_addr: _Optional[bytes] = ...) -> None: ...
