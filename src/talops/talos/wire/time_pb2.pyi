from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from talops.talos.wire import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TimeRequest(_message.Message):
    __slots__ = ("server",)
    SERVER_FIELD_NUMBER: _ClassVar[int]
    server: str
    def __init__(self, server: _Optional[str] = ...) -> None: ...

class Time(_message.Message):
    __slots__ = ("metadata", "server", "localtime", "remotetime")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    LOCALTIME_FIELD_NUMBER: _ClassVar[int]
    REMOTETIME_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    server: str
    localtime: _timestamp_pb2.Timestamp
    remotetime: _timestamp_pb2.Timestamp
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., server: _Optional[str] = ..., localtime: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., remotetime: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class TimeResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Time]
    def __init__(self, messages: _Optional[_Iterable[_Union[Time, _Mapping]]] = ...) -> None: ...
