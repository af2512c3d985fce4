from talops.talos.wire import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MemberSpec(_message.Message):
    __slots__ = ("member_id",)
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    member_id: str
    def __init__(self, member_id: _Optional[str] = ...) -> None: ...

class PKIStatusSpec(_message.Message):
    __slots__ = ("ready", "version")
    READY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ready: bool
    version: str
    def __init__(self, ready: bool = ..., version: _Optional[str] = ...) -> None: ...

class SpecSpec(_message.Message):
    __slots__ = ("name", "advertised_addresses", "image", "listen_peer_addresses", "listen_client_addresses")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADVERTISED_ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    LISTEN_PEER_ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    LISTEN_CLIENT_ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    name: str
    advertised_addresses: _containers.RepeatedCompositeFieldContainer[_common_pb2.NetIP]
    image: str
    listen_peer_addresses: _containers.RepeatedCompositeFieldContainer[_common_pb2.NetIP]
    listen_client_addresses: _containers.RepeatedCompositeFieldContainer[_common_pb2.NetIP]
    def __init__(self, name: _Optional[str] = ..., advertised_addresses: _Optional[_Iterable[_Union[_common_pb2.NetIP, _Mapping]]] = ..., image: _Optional[str] = ..., listen_peer_addresses: _Optional[_Iterable[_Union[_common_pb2.NetIP, _Mapping]]] = ..., listen_client_addresses: _Optional[_Iterable[_Union[_common_pb2.NetIP, _Mapping]]] = ...) -> None: ...
