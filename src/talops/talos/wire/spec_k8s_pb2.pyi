from google.protobuf import struct_pb2 as _struct_pb2
from talops.talos.wire import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class NodenameSpec(_message.Message):
    __slots__ = ("nodename", "hostname_version", "skip_node_registration")
    NODENAME_FIELD_NUMBER: _ClassVar[int]
    HOSTNAME_VERSION_FIELD_NUMBER: _ClassVar[int]
    SKIP_NODE_REGISTRATION_FIELD_NUMBER: _ClassVar[int]
    nodename: str
    hostname_version: str
    skip_node_registration: bool
    def __init__(self, nodename: _Optional[str] = ..., hostname_version: _Optional[str] = ..., skip_node_registration: bool = ...) -> None: ...

class NodeStatusSpec(_message.Message):
    __slots__ = ("nodename", "node_ready", "unschedulable", "labels", "annotations", "pod_cid_rs")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class AnnotationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NODENAME_FIELD_NUMBER: _ClassVar[int]
    NODE_READY_FIELD_NUMBER: _ClassVar[int]
    UNSCHEDULABLE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    POD_CID_RS_FIELD_NUMBER: _ClassVar[int]
    nodename: str
    node_ready: bool
    unschedulable: bool
    labels: _containers.ScalarMap[str, str]
    annotations: _containers.ScalarMap[str, str]
    pod_cid_rs: _containers.RepeatedCompositeFieldContainer[_common_pb2.NetIPPrefix]
    def __init__(self, nodename: _Optional[str] = ..., node_ready: bool = ..., unschedulable: bool = ..., labels: _Optional[_Mapping[str, str]] = ..., annotations: _Optional[_Mapping[str, str]] = ..., pod_cid_rs: _Optional[_Iterable[_Union[_common_pb2.NetIPPrefix, _Mapping]]] = ...) -> None: ...

class NodeIPSpec(_message.Message):
    __slots__ = ("addresses",)
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    addresses: _containers.RepeatedCompositeFieldContainer[_common_pb2.NetIP]
    def __init__(self, addresses: _Optional[_Iterable[_Union[_common_pb2.NetIP, _Mapping]]] = ...) -> None: ...

class StaticPodStatusSpec(_message.Message):
    __slots__ = ("pod_status",)
    POD_STATUS_FIELD_NUMBER: _ClassVar[int]
    pod_status: _struct_pb2.Struct
    def __init__(self, pod_status: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class StaticPodServerStatusSpec(_message.Message):
    __slots__ = ("url",)
    URL_FIELD_NUMBER: _ClassVar[int]
    url: str
    def __init__(self, url: _Optional[str] = ...) -> None: ...

class KubeletSpecSpec(_message.Message):
    __slots__ = ("image", "args", "expected_nodename", "config")
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_NODENAME_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    image: str
    args: _containers.RepeatedScalarFieldContainer[str]
    expected_nodename: str
    config: _struct_pb2.Struct
    def __init__(self, image: _Optional[str] = ..., args: _Optional[_Iterable[str]] = ..., expected_nodename: _Optional[str] = ..., config: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class KubePrismEndpoint(_message.Message):
    __slots__ = ("host", "port")
    HOST_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    host: str
    port: int
    def __init__(self, host: _Optional[str] = ..., port: _Optional[int] = ...) -> None: ...

class KubePrismEndpointsSpec(_message.Message):
    __slots__ = ("endpoints",)
    ENDPOINTS_FIELD_NUMBER: _ClassVar[int]
    endpoints: _containers.RepeatedCompositeFieldContainer[KubePrismEndpoint]
    def __init__(self, endpoints: _Optional[_Iterable[_Union[KubePrismEndpoint, _Mapping]]] = ...) -> None: ...

class KubePrismStatusesSpec(_message.Message):
    __slots__ = ("host", "healthy")
    HOST_FIELD_NUMBER: _ClassVar[int]
    HEALTHY_FIELD_NUMBER: _ClassVar[int]
    host: str
    healthy: bool
    def __init__(self, host: _Optional[str] = ..., healthy: bool = ...) -> None: ...

class EndpointSpec(_message.Message):
    __slots__ = ("addresses", "hosts")
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    HOSTS_FIELD_NUMBER: _ClassVar[int]
    addresses: _containers.RepeatedCompositeFieldContainer[_common_pb2.NetIP]
    hosts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, addresses: _Optional[_Iterable[_Union[_common_pb2.NetIP, _Mapping]]] = ..., hosts: _Optional[_Iterable[str]] = ...) -> None: ...

class ConfigStatusSpec(_message.Message):
    __slots__ = ("ready", "version")
    READY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ready: bool
    version: str
    def __init__(self, ready: bool = ..., version: _Optional[str] = ...) -> None: ...
