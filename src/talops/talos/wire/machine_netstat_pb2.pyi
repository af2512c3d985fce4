from talops.talos.wire import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BPFInstruction(_message.Message):
    __slots__ = ("op", "jt", "jf", "k")
    OP_FIELD_NUMBER: _ClassVar[int]
    JT_FIELD_NUMBER: _ClassVar[int]
    JF_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    op: int
    jt: int
    jf: int
    k: int
    def __init__(self, op: _Optional[int] = ..., jt: _Optional[int] = ..., jf: _Optional[int] = ..., k: _Optional[int] = ...) -> None: ...

class PacketCaptureRequest(_message.Message):
    __slots__ = ("interface", "promiscuous", "snap_len", "bpf_filter")
    INTERFACE_FIELD_NUMBER: _ClassVar[int]
    PROMISCUOUS_FIELD_NUMBER: _ClassVar[int]
    SNAP_LEN_FIELD_NUMBER: _ClassVar[int]
    BPF_FILTER_FIELD_NUMBER: _ClassVar[int]
    interface: str
    promiscuous: bool
    snap_len: int
    bpf_filter: _containers.RepeatedCompositeFieldContainer[BPFInstruction]
    def __init__(self, interface: _Optional[str] = ..., promiscuous: bool = ..., snap_len: _Optional[int] = ..., bpf_filter: _Optional[_Iterable[_Union[BPFInstruction, _Mapping]]] = ...) -> None: ...

class NetstatRequest(_message.Message):
    __slots__ = ("filter", "feature", "l4proto", "netns")
    class Filter(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ALL: _ClassVar[NetstatRequest.Filter]
        CONNECTED: _ClassVar[NetstatRequest.Filter]
        LISTENING: _ClassVar[NetstatRequest.Filter]
    ALL: NetstatRequest.Filter
    CONNECTED: NetstatRequest.Filter
    LISTENING: NetstatRequest.Filter
    class Feature(_message.Message):
        __slots__ = ("pid",)
        PID_FIELD_NUMBER: _ClassVar[int]
        pid: bool
        def __init__(self, pid: bool = ...) -> None: ...
    class L4proto(_message.Message):
        __slots__ = ("tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "raw", "raw6")
        TCP_FIELD_NUMBER: _ClassVar[int]
        TCP6_FIELD_NUMBER: _ClassVar[int]
        UDP_FIELD_NUMBER: _ClassVar[int]
        UDP6_FIELD_NUMBER: _ClassVar[int]
        UDPLITE_FIELD_NUMBER: _ClassVar[int]
        UDPLITE6_FIELD_NUMBER: _ClassVar[int]
        RAW_FIELD_NUMBER: _ClassVar[int]
        RAW6_FIELD_NUMBER: _ClassVar[int]
        tcp: bool
        tcp6: bool
        udp: bool
        udp6: bool
        udplite: bool
        udplite6: bool
        raw: bool
        raw6: bool
        def __init__(self, tcp: bool = ..., tcp6: bool = ..., udp: bool = ..., udp6: bool = ..., udplite: bool = ..., udplite6: bool = ..., raw: bool = ..., raw6: bool = ...) -> None: ...
    class NetNS(_message.Message):
        __slots__ = ("hostnetwork", "netns", "allnetns")
        HOSTNETWORK_FIELD_NUMBER: _ClassVar[int]
        NETNS_FIELD_NUMBER: _ClassVar[int]
        ALLNETNS_FIELD_NUMBER: _ClassVar[int]
        hostnetwork: bool
        netns: _containers.RepeatedScalarFieldContainer[str]
        allnetns: bool
        def __init__(self, hostnetwork: bool = ..., netns: _Optional[_Iterable[str]] = ..., allnetns: bool = ...) -> None: ...
    FILTER_FIELD_NUMBER: _ClassVar[int]
    FEATURE_FIELD_NUMBER: _ClassVar[int]
    L4PROTO_FIELD_NUMBER: _ClassVar[int]
    NETNS_FIELD_NUMBER: _ClassVar[int]
    filter: NetstatRequest.Filter
    feature: NetstatRequest.Feature
    l4proto: NetstatRequest.L4proto
    netns: NetstatRequest.NetNS
    def __init__(self, filter: _Optional[_Union[NetstatRequest.Filter, str]] = ..., feature: _Optional[_Union[NetstatRequest.Feature, _Mapping]] = ..., l4proto: _Optional[_Union[NetstatRequest.L4proto, _Mapping]] = ..., netns: _Optional[_Union[NetstatRequest.NetNS, _Mapping]] = ...) -> None: ...

class ConnectRecord(_message.Message):
    __slots__ = ("l4proto", "localip", "localport", "remoteip", "remoteport", "state", "txqueue", "rxqueue", "tr", "timerwhen", "retrnsmt", "uid", "timeout", "inode", "ref", "pointer", "process", "netns")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        RESERVED: _ClassVar[ConnectRecord.State]
        ESTABLISHED: _ClassVar[ConnectRecord.State]
        SYN_SENT: _ClassVar[ConnectRecord.State]
        SYN_RECV: _ClassVar[ConnectRecord.State]
        FIN_WAIT1: _ClassVar[ConnectRecord.State]
        FIN_WAIT2: _ClassVar[ConnectRecord.State]
        TIME_WAIT: _ClassVar[ConnectRecord.State]
        CLOSE: _ClassVar[ConnectRecord.State]
        CLOSEWAIT: _ClassVar[ConnectRecord.State]
        LASTACK: _ClassVar[ConnectRecord.State]
        LISTEN: _ClassVar[ConnectRecord.State]
        CLOSING: _ClassVar[ConnectRecord.State]
    RESERVED: ConnectRecord.State
    ESTABLISHED: ConnectRecord.State
    SYN_SENT: ConnectRecord.State
    SYN_RECV: ConnectRecord.State
    FIN_WAIT1: ConnectRecord.State
    FIN_WAIT2: ConnectRecord.State
    TIME_WAIT: ConnectRecord.State
    CLOSE: ConnectRecord.State
    CLOSEWAIT: ConnectRecord.State
    LASTACK: ConnectRecord.State
    LISTEN: ConnectRecord.State
    CLOSING: ConnectRecord.State
    class TimerActive(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        OFF: _ClassVar[ConnectRecord.TimerActive]
        ON: _ClassVar[ConnectRecord.TimerActive]
        KEEPALIVE: _ClassVar[ConnectRecord.TimerActive]
        TIMEWAIT: _ClassVar[ConnectRecord.TimerActive]
        PROBE: _ClassVar[ConnectRecord.TimerActive]
    OFF: ConnectRecord.TimerActive
    ON: ConnectRecord.TimerActive
    KEEPALIVE: ConnectRecord.TimerActive
    TIMEWAIT: ConnectRecord.TimerActive
    PROBE: ConnectRecord.TimerActive
    class Process(_message.Message):
        __slots__ = ("pid", "name")
        PID_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        pid: int
        name: str
        def __init__(self, pid: _Optional[int] = ..., name: _Optional[str] = ...) -> None: ...
    L4PROTO_FIELD_NUMBER: _ClassVar[int]
    LOCALIP_FIELD_NUMBER: _ClassVar[int]
    LOCALPORT_FIELD_NUMBER: _ClassVar[int]
    REMOTEIP_FIELD_NUMBER: _ClassVar[int]
    REMOTEPORT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TXQUEUE_FIELD_NUMBER: _ClassVar[int]
    RXQUEUE_FIELD_NUMBER: _ClassVar[int]
    TR_FIELD_NUMBER: _ClassVar[int]
    TIMERWHEN_FIELD_NUMBER: _ClassVar[int]
    RETRNSMT_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    INODE_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    POINTER_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    NETNS_FIELD_NUMBER: _ClassVar[int]
    l4proto: str
    localip: str
    localport: int
    remoteip: str
    remoteport: int
    state: ConnectRecord.State
    txqueue: int
    rxqueue: int
    tr: ConnectRecord.TimerActive
    timerwhen: int
    retrnsmt: int
    uid: int
    timeout: int
    inode: int
    ref: int
    pointer: int
    process: ConnectRecord.Process
    netns: str
    def __init__(self, l4proto: _Optional[str] = ..., localip: _Optional[str] = ..., localport: _Optional[int] = ..., remoteip: _Optional[str] = ..., remoteport: _Optional[int] = ..., state: _Optional[_Union[ConnectRecord.State, str]] = ..., txqueue: _Optional[int] = ..., rxqueue: _Optional[int] = ..., tr: _Optional[_Union[ConnectRecord.TimerActive, str]] = ..., timerwhen: _Optional[int] = ..., retrnsmt: _Optional[int] = ..., uid: _Optional[int] = ..., timeout: _Optional[int] = ..., inode: _Optional[int] = ..., ref: _Optional[int] = ..., pointer: _Optional[int] = ..., process: _Optional[_Union[ConnectRecord.Process, _Mapping]] = ..., netns: _Optional[str] = ...) -> None: ...

class Netstat(_message.Message):
    __slots__ = ("metadata", "connectrecord")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CONNECTRECORD_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    connectrecord: _containers.RepeatedCompositeFieldContainer[ConnectRecord]
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., connectrecord: _Optional[_Iterable[_Union[ConnectRecord, _Mapping]]] = ...) -> None: ...

class NetstatResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Netstat]
    def __init__(self, messages: _Optional[_Iterable[_Union[Netstat, _Mapping]]] = ...) -> None: ...
