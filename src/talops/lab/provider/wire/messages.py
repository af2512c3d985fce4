"""What provider and OpenTofu say to each other, as far as this provider reads or writes it."""

from __future__ import annotations

from talops.lab.provider.wire.codec import Field, Message


def _message(title: str, /, **fields: Field) -> Message:
    return Message(title, fields)


def _text(number: int) -> Field:
    return Field(number, "string")


def _raw(number: int) -> Field:
    return Field(number, "bytes")


def _flag(number: int) -> Field:
    return Field(number, "bool")


def _count(number: int) -> Field:
    return Field(number, "int")


def _many(number: int, kind: str | Message) -> Field:
    return Field(number, kind, repeated=True)


EMPTY = _message("Empty")
DYNAMIC = _message("DynamicValue", msgpack=_raw(1), json=_raw(2))
_STEP = _message(
    "AttributePath.Step",
    attribute_name=_text(1),
    element_key_string=_text(2),
    element_key_int=_count(3),
)
PATH = _message("AttributePath", steps=_many(1, _STEP))
DIAGNOSTIC = _message(
    "Diagnostic",
    severity=_count(1),
    summary=_text(2),
    detail=_text(3),
    attribute=Field(4, PATH),
)


def _diagnostics(number: int) -> Field:
    return _many(number, DIAGNOSTIC)


_ATTRIBUTE = _message(
    "Schema.Attribute",
    name=_text(1),
    type=_raw(2),
    description=_text(3),
    required=_flag(4),
    optional=_flag(5),
    computed=_flag(6),
    sensitive=_flag(7),
    deprecated=_flag(9),
)
_OBJECT = _message("Schema.Object", attributes=_many(1, _ATTRIBUTE), nesting=_count(3))
_ATTRIBUTE.fields["nested_type"] = Field(10, _OBJECT)
_BLOCK = _message(
    "Schema.Block",
    version=_count(1),
    attributes=_many(2, _ATTRIBUTE),
    description=_text(4),
    deprecated=_flag(6),
)
_NESTED_BLOCK = _message(
    "Schema.NestedBlock",
    type_name=_text(1),
    block=Field(2, _BLOCK),
    nesting=_count(3),
    min_items=_count(4),
    max_items=_count(5),
)
_BLOCK.fields["block_types"] = _many(3, _NESTED_BLOCK)
SCHEMA = _message("Schema", version=_count(1), block=Field(2, _BLOCK))
_CAPABILITIES = _message(
    "ServerCapabilities", plan_destroy=_flag(1), get_provider_schema_optional=_flag(2)
)
_TYPE_NAME = _message("TypeName", type_name=_text(1))

METADATA = _message(
    "GetMetadata.Response",
    server_capabilities=Field(1, _CAPABILITIES),
    diagnostics=_diagnostics(2),
    data_sources=_many(3, _TYPE_NAME),
    resources=_many(4, _TYPE_NAME),
)
PROVIDER_SCHEMA = _message(
    "GetProviderSchema.Response",
    provider=Field(1, SCHEMA),
    resource_schemas=Field(2, SCHEMA, mapped=True),
    data_source_schemas=Field(3, SCHEMA, mapped=True),
    diagnostics=_diagnostics(4),
    server_capabilities=Field(6, _CAPABILITIES),
)

PROVIDER_CONFIG = _message("ValidateProviderConfig.Request", config=Field(1, DYNAMIC))
PROVIDER_CONFIG_CHECKED = _message("ValidateProviderConfig.Response", diagnostics=_diagnostics(2))
TYPED_CONFIG = _message("Validate.Request", type_name=_text(1), config=Field(2, DYNAMIC))
CHECKED = _message("Validate.Response", diagnostics=_diagnostics(1))
CONFIGURE = _message(
    "ConfigureProvider.Request", terraform_version=_text(1), config=Field(2, DYNAMIC)
)

_RAW_STATE = _message("RawState", json=_raw(1))
UPGRADE = _message(
    "UpgradeResourceState.Request",
    type_name=_text(1),
    version=_count(2),
    raw_state=Field(3, _RAW_STATE),
)
UPGRADED = _message(
    "UpgradeResourceState.Response", upgraded_state=Field(1, DYNAMIC), diagnostics=_diagnostics(2)
)
READ = _message(
    "ReadResource.Request", type_name=_text(1), current_state=Field(2, DYNAMIC), private=_raw(3)
)
HAS_READ = _message(
    "ReadResource.Response",
    new_state=Field(1, DYNAMIC),
    diagnostics=_diagnostics(2),
    private=_raw(3),
)
PLAN = _message(
    "PlanResourceChange.Request",
    type_name=_text(1),
    prior_state=Field(2, DYNAMIC),
    proposed_new_state=Field(3, DYNAMIC),
    config=Field(4, DYNAMIC),
    prior_private=_raw(5),
)
PLANNED = _message(
    "PlanResourceChange.Response",
    planned_state=Field(1, DYNAMIC),
    requires_replace=_many(2, PATH),
    planned_private=_raw(3),
    diagnostics=_diagnostics(4),
    legacy_type_system=_flag(5),
)
APPLY = _message(
    "ApplyResourceChange.Request",
    type_name=_text(1),
    prior_state=Field(2, DYNAMIC),
    planned_state=Field(3, DYNAMIC),
    config=Field(4, DYNAMIC),
    planned_private=_raw(5),
)
APPLIED = _message(
    "ApplyResourceChange.Response",
    new_state=Field(1, DYNAMIC),
    private=_raw(2),
    diagnostics=_diagnostics(3),
    legacy_type_system=_flag(4),
)
IMPORT = _message("ImportResourceState.Request", type_name=_text(1), id=_text(2))
_IMPORTED_RESOURCE = _message(
    "ImportedResource", type_name=_text(1), state=Field(2, DYNAMIC), private=_raw(3)
)
IMPORTED = _message(
    "ImportResourceState.Response",
    imported_resources=_many(1, _IMPORTED_RESOURCE),
    diagnostics=_diagnostics(2),
)
HAS_READ_DATA = _message(
    "ReadDataSource.Response", state=Field(1, DYNAMIC), diagnostics=_diagnostics(2)
)
STOPPED = _message("StopProvider.Response", error=_text(1))
STDIO = _message("StdioData", channel=_count(1), data=_raw(2))
