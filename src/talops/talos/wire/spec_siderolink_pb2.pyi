from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class StatusSpec(_message.Message):
    __slots__ = ("host", "connected", "link_name", "grpc_tunnel")
    HOST_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_FIELD_NUMBER: _ClassVar[int]
    LINK_NAME_FIELD_NUMBER: _ClassVar[int]
    GRPC_TUNNEL_FIELD_NUMBER: _ClassVar[int]
    host: str
    connected: bool
    link_name: str
    grpc_tunnel: bool
    def __init__(self, host: _Optional[str] = ..., connected: bool = ..., link_name: _Optional[str] = ..., grpc_tunnel: bool = ...) -> None: ...
