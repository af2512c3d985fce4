"""Which fields of a message are set, all the way down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf.unknown_fields import UnknownFieldSet
from ruamel.yaml import YAML

from talops.lab.talos.resources.definitions import known
from talops.lab.talos.resources.specs import message as spec_message
from talops.lab.talos.router import routes
from talops.talos.wire import cosi_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.protobuf.message import Message


def shape(method: str, responses: Iterable[bytes]) -> set[str]:
    """Paths of fields, over all responses together: how long a list is does not matter."""
    kind = routes()[method].reply
    return {path for response in responses for path in _fields(kind.FromString(response))}


def _fields(found: Message, prefix: str = "") -> Iterator[str]:
    unknown = UnknownFieldSet(found)
    for index in range(len(unknown)):
        yield f"{prefix}?{unknown[index].field_number}"
    if isinstance(found, cosi_pb2.Resource):
        yield from _spec(found, prefix)
    for field, value in found.ListFields():
        path = f"{prefix}{field.name}"
        yield path
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            values = (
                value.values() if field.message_type.fields_by_name["value"].message_type else ()
            )
        else:
            values = value if field.is_repeated else [value]
        for inner in values:
            yield from _fields(inner, f"{path}.")


def _spec(resource: cosi_pb2.Resource, prefix: str) -> Iterator[str]:
    kind = resource.metadata.type
    definition = known(13).get(kind)
    if definition is not None and definition.message:
        decoded = spec_message(definition.message).FromString(resource.spec.proto_spec)
        yield from _fields(decoded, f"{prefix}proto:")
    documents = list(YAML(typ="safe").load_all(resource.spec.yaml_spec))
    yield from _keys(documents, f"{prefix}yaml:")


def _keys(content: Any, prefix: str) -> Iterator[str]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield f"{prefix}{key}"
            yield from _keys(value, f"{prefix}{key}.")
    elif isinstance(content, list):
        for value in content:
            yield from _keys(value, prefix)
