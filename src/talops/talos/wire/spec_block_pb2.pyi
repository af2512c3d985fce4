from talops.talos.wire import spec_enums_pb2 as _spec_enums_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DiskSpec(_message.Message):
    __slots__ = ("size", "io_size", "sector_size", "readonly", "model", "serial", "modalias", "wwid", "bus_path", "sub_system", "transport", "rotational", "cdrom", "dev_path", "pretty_size", "secondary_disks", "uuid", "symlinks", "firmware_version")
    SIZE_FIELD_NUMBER: _ClassVar[int]
    IO_SIZE_FIELD_NUMBER: _ClassVar[int]
    SECTOR_SIZE_FIELD_NUMBER: _ClassVar[int]
    READONLY_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    MODALIAS_FIELD_NUMBER: _ClassVar[int]
    WWID_FIELD_NUMBER: _ClassVar[int]
    BUS_PATH_FIELD_NUMBER: _ClassVar[int]
    SUB_SYSTEM_FIELD_NUMBER: _ClassVar[int]
    TRANSPORT_FIELD_NUMBER: _ClassVar[int]
    ROTATIONAL_FIELD_NUMBER: _ClassVar[int]
    CDROM_FIELD_NUMBER: _ClassVar[int]
    DEV_PATH_FIELD_NUMBER: _ClassVar[int]
    PRETTY_SIZE_FIELD_NUMBER: _ClassVar[int]
    SECONDARY_DISKS_FIELD_NUMBER: _ClassVar[int]
    UUID_FIELD_NUMBER: _ClassVar[int]
    SYMLINKS_FIELD_NUMBER: _ClassVar[int]
    FIRMWARE_VERSION_FIELD_NUMBER: _ClassVar[int]
    size: int
    io_size: int
    sector_size: int
    readonly: bool
    model: str
    serial: str
    modalias: str
    wwid: str
    bus_path: str
    sub_system: str
    transport: str
    rotational: bool
    cdrom: bool
    dev_path: str
    pretty_size: str
    secondary_disks: _containers.RepeatedScalarFieldContainer[str]
    uuid: str
    symlinks: _containers.RepeatedScalarFieldContainer[str]
    firmware_version: str
    def __init__(self, size: _Optional[int] = ..., io_size: _Optional[int] = ..., sector_size: _Optional[int] = ..., readonly: bool = ..., model: _Optional[str] = ..., serial: _Optional[str] = ..., modalias: _Optional[str] = ..., wwid: _Optional[str] = ..., bus_path: _Optional[str] = ..., sub_system: _Optional[str] = ..., transport: _Optional[str] = ..., rotational: bool = ..., cdrom: bool = ..., dev_path: _Optional[str] = ..., pretty_size: _Optional[str] = ..., secondary_disks: _Optional[_Iterable[str]] = ..., uuid: _Optional[str] = ..., symlinks: _Optional[_Iterable[str]] = ..., firmware_version: _Optional[str] = ...) -> None: ...

class SystemDiskSpec(_message.Message):
    __slots__ = ("disk_id", "dev_path")
    DISK_ID_FIELD_NUMBER: _ClassVar[int]
    DEV_PATH_FIELD_NUMBER: _ClassVar[int]
    disk_id: str
    dev_path: str
    def __init__(self, disk_id: _Optional[str] = ..., dev_path: _Optional[str] = ...) -> None: ...

class DiscoveredVolumeSpec(_message.Message):
    __slots__ = ("size", "sector_size", "io_size", "name", "uuid", "label", "block_size", "filesystem_block_size", "probed_size", "partition_uuid", "partition_type", "partition_label", "partition_index", "type", "device_path", "parent", "dev_path", "parent_dev_path", "pretty_size", "offset")
    SIZE_FIELD_NUMBER: _ClassVar[int]
    SECTOR_SIZE_FIELD_NUMBER: _ClassVar[int]
    IO_SIZE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    UUID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    BLOCK_SIZE_FIELD_NUMBER: _ClassVar[int]
    FILESYSTEM_BLOCK_SIZE_FIELD_NUMBER: _ClassVar[int]
    PROBED_SIZE_FIELD_NUMBER: _ClassVar[int]
    PARTITION_UUID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_TYPE_FIELD_NUMBER: _ClassVar[int]
    PARTITION_LABEL_FIELD_NUMBER: _ClassVar[int]
    PARTITION_INDEX_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DEVICE_PATH_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    DEV_PATH_FIELD_NUMBER: _ClassVar[int]
    PARENT_DEV_PATH_FIELD_NUMBER: _ClassVar[int]
    PRETTY_SIZE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    size: int
    sector_size: int
    io_size: int
    name: str
    uuid: str
    label: str
    block_size: int
    filesystem_block_size: int
    probed_size: int
    partition_uuid: str
    partition_type: str
    partition_label: str
    partition_index: int
    type: str
    device_path: str
    parent: str
    dev_path: str
    parent_dev_path: str
    pretty_size: str
    offset: int
    def __init__(self, size: _Optional[int] = ..., sector_size: _Optional[int] = ..., io_size: _Optional[int] = ..., name: _Optional[str] = ..., uuid: _Optional[str] = ..., label: _Optional[str] = ..., block_size: _Optional[int] = ..., filesystem_block_size: _Optional[int] = ..., probed_size: _Optional[int] = ..., partition_uuid: _Optional[str] = ..., partition_type: _Optional[str] = ..., partition_label: _Optional[str] = ..., partition_index: _Optional[int] = ..., type: _Optional[str] = ..., device_path: _Optional[str] = ..., parent: _Optional[str] = ..., dev_path: _Optional[str] = ..., parent_dev_path: _Optional[str] = ..., pretty_size: _Optional[str] = ..., offset: _Optional[int] = ...) -> None: ...

class VolumeStatusSpec(_message.Message):
    __slots__ = ("phase", "location", "error_message", "uuid", "partition_uuid", "pre_fail_phase", "parent_location", "partition_index", "size", "filesystem", "mount_location", "encryption_provider", "pretty_size", "encryption_failed_syncs", "type", "configured_encryption_keys", "parent_id")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    UUID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_UUID_FIELD_NUMBER: _ClassVar[int]
    PRE_FAIL_PHASE_FIELD_NUMBER: _ClassVar[int]
    PARENT_LOCATION_FIELD_NUMBER: _ClassVar[int]
    PARTITION_INDEX_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    FILESYSTEM_FIELD_NUMBER: _ClassVar[int]
    MOUNT_LOCATION_FIELD_NUMBER: _ClassVar[int]
    ENCRYPTION_PROVIDER_FIELD_NUMBER: _ClassVar[int]
    PRETTY_SIZE_FIELD_NUMBER: _ClassVar[int]
    ENCRYPTION_FAILED_SYNCS_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONFIGURED_ENCRYPTION_KEYS_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    phase: _spec_enums_pb2.BlockVolumePhase
    location: str
    error_message: str
    uuid: str
    partition_uuid: str
    pre_fail_phase: _spec_enums_pb2.BlockVolumePhase
    parent_location: str
    partition_index: int
    size: int
    filesystem: _spec_enums_pb2.BlockFilesystemType
    mount_location: str
    encryption_provider: _spec_enums_pb2.BlockEncryptionProviderType
    pretty_size: str
    encryption_failed_syncs: _containers.RepeatedScalarFieldContainer[str]
    type: _spec_enums_pb2.BlockVolumeType
    configured_encryption_keys: _containers.RepeatedScalarFieldContainer[str]
    parent_id: str
    def __init__(self, phase: _Optional[_Union[_spec_enums_pb2.BlockVolumePhase, str]] = ..., location: _Optional[str] = ..., error_message: _Optional[str] = ..., uuid: _Optional[str] = ..., partition_uuid: _Optional[str] = ..., pre_fail_phase: _Optional[_Union[_spec_enums_pb2.BlockVolumePhase, str]] = ..., parent_location: _Optional[str] = ..., partition_index: _Optional[int] = ..., size: _Optional[int] = ..., filesystem: _Optional[_Union[_spec_enums_pb2.BlockFilesystemType, str]] = ..., mount_location: _Optional[str] = ..., encryption_provider: _Optional[_Union[_spec_enums_pb2.BlockEncryptionProviderType, str]] = ..., pretty_size: _Optional[str] = ..., encryption_failed_syncs: _Optional[_Iterable[str]] = ..., type: _Optional[_Union[_spec_enums_pb2.BlockVolumeType, str]] = ..., configured_encryption_keys: _Optional[_Iterable[str]] = ..., parent_id: _Optional[str] = ...) -> None: ...
