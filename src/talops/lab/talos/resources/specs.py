"""Resource specs as protobuf, from their fields by name.

The table lists the fields of every spec that real nodes send. Enums are numbers on the wire, and
numbers here.
"""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    json_format,
    message_factory,
    struct_pb2,
    timestamp_pb2,
)

if TYPE_CHECKING:
    from google.protobuf.message import Message

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS: dict[str, _Field.Type.ValueType] = {
    "bool": _Field.TYPE_BOOL,
    "bytes": _Field.TYPE_BYTES,
    "double": _Field.TYPE_DOUBLE,
    "fixed32": _Field.TYPE_FIXED32,
    "fixed64": _Field.TYPE_FIXED64,
    "float": _Field.TYPE_FLOAT,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "string": _Field.TYPE_STRING,
    "uint32": _Field.TYPE_UINT32,
    "uint64": _Field.TYPE_UINT64,
}
_KNOWN = (duration_pb2, empty_pb2, struct_pb2, timestamp_pb2)
_PACKAGE = "lab"


def read_data(name: str) -> Any:
    """A file of this package's data."""
    text = files(__package__).joinpath("data", name).read_text(encoding="utf-8")
    return json.loads(text)


def message(name: str) -> type[Message]:
    """The class of a spec, like `block.DiskSpec`."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(_full(name)))


def encode(name: str, fields: dict[str, Any]) -> bytes:
    """Bytes are base64 in `fields`, as in JSON."""
    built = json_format.ParseDict(fields, message(name)())
    return built.SerializeToString(deterministic=True)


def _full(name: str) -> str:
    return name if name.startswith("google.protobuf.") else f"{_PACKAGE}.{name.replace('.', '_')}"


@functools.cache
def _pool() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(
        name="lab-specs.proto", package=_PACKAGE, syntax="proto3"
    )
    pool = descriptor_pool.DescriptorPool()
    for module in _KNOWN:
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
        file.dependency.append(module.DESCRIPTOR.name)
    for name, fields in read_data("messages.json").items():
        described = file.message_type.add(name=name.replace(".", "_"))
        for field, (number, *kind) in fields.items():
            _describe(described, field, number, kind)
    pool.AddSerializedFile(file.SerializeToString())
    return pool


def _describe(
    described: descriptor_pb2.DescriptorProto, name: str, number: int, kind: list[str]
) -> None:
    repeated = kind[0] in {"repeated", "map"}
    label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
    field = described.field.add(name=name, number=number, label=label)
    if kind[0] == "map":
        entry = described.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        for part, of, at in (("key", kind[1], 1), ("value", kind[2], 2)):
            inner = entry.field.add(name=part, number=at, label=_Field.LABEL_OPTIONAL)
            _type(inner, of)
        field.type = _Field.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{described.name}.{entry.name}"
    else:
        _type(field, kind[-1])


def _type(field: descriptor_pb2.FieldDescriptorProto, kind: str) -> None:
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".{_full(kind)}"
