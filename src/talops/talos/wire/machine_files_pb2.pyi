from talops.talos.wire import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CopyRequest(_message.Message):
    __slots__ = ("root_path",)
    ROOT_PATH_FIELD_NUMBER: _ClassVar[int]
    root_path: str
    def __init__(self, root_path: _Optional[str] = ...) -> None: ...

class ReadRequest(_message.Message):
    __slots__ = ("path",)
    PATH_FIELD_NUMBER: _ClassVar[int]
    path: str
    def __init__(self, path: _Optional[str] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("root", "recurse", "recursion_depth", "types", "report_xattrs")
    class Type(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        REGULAR: _ClassVar[ListRequest.Type]
        DIRECTORY: _ClassVar[ListRequest.Type]
        SYMLINK: _ClassVar[ListRequest.Type]
    REGULAR: ListRequest.Type
    DIRECTORY: ListRequest.Type
    SYMLINK: ListRequest.Type
    ROOT_FIELD_NUMBER: _ClassVar[int]
    RECURSE_FIELD_NUMBER: _ClassVar[int]
    RECURSION_DEPTH_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    REPORT_XATTRS_FIELD_NUMBER: _ClassVar[int]
    root: str
    recurse: bool
    recursion_depth: int
    types: _containers.RepeatedScalarFieldContainer[ListRequest.Type]
    report_xattrs: bool
    def __init__(self, root: _Optional[str] = ..., recurse: bool = ..., recursion_depth: _Optional[int] = ..., types: _Optional[_Iterable[_Union[ListRequest.Type, str]]] = ..., report_xattrs: bool = ...) -> None: ...

class Xattr(_message.Message):
    __slots__ = ("name", "data")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    name: str
    data: bytes
    def __init__(self, name: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class FileInfo(_message.Message):
    __slots__ = ("metadata", "name", "size", "mode", "modified", "is_dir", "error", "link", "relative_name", "uid", "gid", "xattrs")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    MODIFIED_FIELD_NUMBER: _ClassVar[int]
    IS_DIR_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    RELATIVE_NAME_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    GID_FIELD_NUMBER: _ClassVar[int]
    XATTRS_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    name: str
    size: int
    mode: int
    modified: int
    is_dir: bool
    error: str
    link: str
    relative_name: str
    uid: int
    gid: int
    xattrs: _containers.RepeatedCompositeFieldContainer[Xattr]
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., name: _Optional[str] = ..., size: _Optional[int] = ..., mode: _Optional[int] = ..., modified: _Optional[int] = ..., is_dir: bool = ..., error: _Optional[str] = ..., link: _Optional[str] = ..., relative_name: _Optional[str] = ..., uid: _Optional[int] = ..., gid: _Optional[int] = ..., xattrs: _Optional[_Iterable[_Union[Xattr, _Mapping]]] = ...) -> None: ...

class DiskUsageRequest(_message.Message):
    __slots__ = ("recursion_depth", "all", "threshold", "paths")
    RECURSION_DEPTH_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    recursion_depth: int
    all: bool
    threshold: int
    paths: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, recursion_depth: _Optional[int] = ..., all: bool = ..., threshold: _Optional[int] = ..., paths: _Optional[_Iterable[str]] = ...) -> None: ...

class DiskUsageInfo(_message.Message):
    __slots__ = ("metadata", "name", "size", "error", "relative_name")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    RELATIVE_NAME_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    name: str
    size: int
    error: str
    relative_name: str
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., name: _Optional[str] = ..., size: _Optional[int] = ..., error: _Optional[str] = ..., relative_name: _Optional[str] = ...) -> None: ...

class MountStat(_message.Message):
    __slots__ = ("filesystem", "size", "available", "mounted_on")
    FILESYSTEM_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    MOUNTED_ON_FIELD_NUMBER: _ClassVar[int]
    filesystem: str
    size: int
    available: int
    mounted_on: str
    def __init__(self, filesystem: _Optional[str] = ..., size: _Optional[int] = ..., available: _Optional[int] = ..., mounted_on: _Optional[str] = ...) -> None: ...

class Mounts(_message.Message):
    __slots__ = ("metadata", "stats")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    STATS_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    stats: _containers.RepeatedCompositeFieldContainer[MountStat]
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., stats: _Optional[_Iterable[_Union[MountStat, _Mapping]]] = ...) -> None: ...

class MountsResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Mounts]
    def __init__(self, messages: _Optional[_Iterable[_Union[Mounts, _Mapping]]] = ...) -> None: ...
