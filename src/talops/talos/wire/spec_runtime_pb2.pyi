from talops.talos.wire import common_pb2 as _common_pb2
from talops.talos.wire import spec_enums_pb2 as _spec_enums_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class UnmetCondition(_message.Message):
    __slots__ = ("name", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    reason: str
    def __init__(self, name: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class MachineStatusStatus(_message.Message):
    __slots__ = ("ready", "unmet_conditions")
    READY_FIELD_NUMBER: _ClassVar[int]
    UNMET_CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    ready: bool
    unmet_conditions: _containers.RepeatedCompositeFieldContainer[UnmetCondition]
    def __init__(self, ready: bool = ..., unmet_conditions: _Optional[_Iterable[_Union[UnmetCondition, _Mapping]]] = ...) -> None: ...

class MachineStatusSpec(_message.Message):
    __slots__ = ("stage", "status")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    stage: _spec_enums_pb2.RuntimeMachineStage
    status: MachineStatusStatus
    def __init__(self, stage: _Optional[_Union[_spec_enums_pb2.RuntimeMachineStage, str]] = ..., status: _Optional[_Union[MachineStatusStatus, _Mapping]] = ...) -> None: ...

class VersionSpec(_message.Message):
    __slots__ = ("version", "name")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    version: str
    name: str
    def __init__(self, version: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class BootIDSpec(_message.Message):
    __slots__ = ("boot_id",)
    BOOT_ID_FIELD_NUMBER: _ClassVar[int]
    boot_id: str
    def __init__(self, boot_id: _Optional[str] = ...) -> None: ...

class SecurityStateSpec(_message.Message):
    __slots__ = ("secure_boot", "uki_signing_key_fingerprint", "pcr_signing_key_fingerprint", "se_linux_state", "booted_with_uki", "fips_state", "module_signature_enforced")
    SECURE_BOOT_FIELD_NUMBER: _ClassVar[int]
    UKI_SIGNING_KEY_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    PCR_SIGNING_KEY_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    SE_LINUX_STATE_FIELD_NUMBER: _ClassVar[int]
    BOOTED_WITH_UKI_FIELD_NUMBER: _ClassVar[int]
    FIPS_STATE_FIELD_NUMBER: _ClassVar[int]
    MODULE_SIGNATURE_ENFORCED_FIELD_NUMBER: _ClassVar[int]
    secure_boot: bool
    uki_signing_key_fingerprint: str
    pcr_signing_key_fingerprint: str
    se_linux_state: _spec_enums_pb2.RuntimeSELinuxState
    booted_with_uki: bool
    fips_state: _spec_enums_pb2.RuntimeFIPSState
    module_signature_enforced: bool
    def __init__(self, secure_boot: bool = ..., uki_signing_key_fingerprint: _Optional[str] = ..., pcr_signing_key_fingerprint: _Optional[str] = ..., se_linux_state: _Optional[_Union[_spec_enums_pb2.RuntimeSELinuxState, str]] = ..., booted_with_uki: bool = ..., fips_state: _Optional[_Union[_spec_enums_pb2.RuntimeFIPSState, str]] = ..., module_signature_enforced: bool = ...) -> None: ...

class DiagnosticSpec(_message.Message):
    __slots__ = ("message", "details")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    message: str
    details: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, message: _Optional[str] = ..., details: _Optional[_Iterable[str]] = ...) -> None: ...

class PlatformMetadataSpec(_message.Message):
    __slots__ = ("platform", "hostname", "region", "zone", "instance_type", "instance_id", "provider_id", "spot", "internal_dns", "external_dns", "tags")
    class TagsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PLATFORM_FIELD_NUMBER: _ClassVar[int]
    HOSTNAME_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    SPOT_FIELD_NUMBER: _ClassVar[int]
    INTERNAL_DNS_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_DNS_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    platform: str
    hostname: str
    region: str
    zone: str
    instance_type: str
    instance_id: str
    provider_id: str
    spot: bool
    internal_dns: str
    external_dns: str
    tags: _containers.ScalarMap[str, str]
    def __init__(self, platform: _Optional[str] = ..., hostname: _Optional[str] = ..., region: _Optional[str] = ..., zone: _Optional[str] = ..., instance_type: _Optional[str] = ..., instance_id: _Optional[str] = ..., provider_id: _Optional[str] = ..., spot: bool = ..., internal_dns: _Optional[str] = ..., external_dns: _Optional[str] = ..., tags: _Optional[_Mapping[str, str]] = ...) -> None: ...

class MountStatusSpec(_message.Message):
    __slots__ = ("source", "target", "filesystem_type", "options", "encrypted", "encryption_providers")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    FILESYSTEM_TYPE_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    ENCRYPTED_FIELD_NUMBER: _ClassVar[int]
    ENCRYPTION_PROVIDERS_FIELD_NUMBER: _ClassVar[int]
    source: str
    target: str
    filesystem_type: str
    options: _containers.RepeatedScalarFieldContainer[str]
    encrypted: bool
    encryption_providers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, source: _Optional[str] = ..., target: _Optional[str] = ..., filesystem_type: _Optional[str] = ..., options: _Optional[_Iterable[str]] = ..., encrypted: bool = ..., encryption_providers: _Optional[_Iterable[str]] = ...) -> None: ...

class KernelParamStatusSpec(_message.Message):
    __slots__ = ("current", "default", "unsupported")
    CURRENT_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_FIELD_NUMBER: _ClassVar[int]
    UNSUPPORTED_FIELD_NUMBER: _ClassVar[int]
    current: str
    default: str
    unsupported: bool
    def __init__(self, current: _Optional[str] = ..., default: _Optional[str] = ..., unsupported: bool = ...) -> None: ...

class KernelCmdlineSpec(_message.Message):
    __slots__ = ("cmdline",)
    CMDLINE_FIELD_NUMBER: _ClassVar[int]
    cmdline: str
    def __init__(self, cmdline: _Optional[str] = ...) -> None: ...

class ImageFactorySchematicSpec(_message.Message):
    __slots__ = ("schematic_id", "flavor", "apiurl")
    SCHEMATIC_ID_FIELD_NUMBER: _ClassVar[int]
    FLAVOR_FIELD_NUMBER: _ClassVar[int]
    APIURL_FIELD_NUMBER: _ClassVar[int]
    schematic_id: str
    flavor: str
    apiurl: str
    def __init__(self, schematic_id: _Optional[str] = ..., flavor: _Optional[str] = ..., apiurl: _Optional[str] = ...) -> None: ...

class MetaKeySpec(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: str
    def __init__(self, value: _Optional[str] = ...) -> None: ...

class MaintenanceServiceConfigSpec(_message.Message):
    __slots__ = ("listen_address", "reachable_addresses")
    LISTEN_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    REACHABLE_ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    listen_address: str
    reachable_addresses: _containers.RepeatedCompositeFieldContainer[_common_pb2.NetIP]
    def __init__(self, listen_address: _Optional[str] = ..., reachable_addresses: _Optional[_Iterable[_Union[_common_pb2.NetIP, _Mapping]]] = ...) -> None: ...

class UnattendedInstallStatusSpec(_message.Message):
    __slots__ = ("image", "phase", "error")
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    image: str
    phase: _spec_enums_pb2.RuntimeUnattendedInstallPhase
    error: str
    def __init__(self, image: _Optional[str] = ..., phase: _Optional[_Union[_spec_enums_pb2.RuntimeUnattendedInstallPhase, str]] = ..., error: _Optional[str] = ...) -> None: ...
