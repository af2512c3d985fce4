"""The stubs are those of the .proto texts, and the numbers are those on the wire."""

from __future__ import annotations

import re
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

import talops.talos.wire
from talops.talos.wire import cosi_pb2, machine_pb2
from talops.talos.wire.machine_grpc import MachineServiceBase
from talops.talos.wire.serving import partial

FOLDER = Path(talops.talos.wire.__file__).parent
PROTOS = sorted(FOLDER.glob("*.proto"))
_NUMBERED = re.compile(r"(\w+)\s*=\s*(\d+)\s*;")
_RPC = re.compile(r"rpc (\w+)\((stream )?[\w.]+\) returns \((stream )?[\w.]+\)")


def generated(path: Path) -> FileDescriptorProto:
    file = FileDescriptorProto()
    import_module(f"talops.talos.wire.{path.stem}_pb2").DESCRIPTOR.CopyToProto(file)
    return file


def numbers(scope: Any) -> Counter[tuple[str, int]]:
    found = Counter((value.name, value.number) for enum in scope.enum_type for value in enum.value)
    for message in getattr(scope, "message_type", ()) or getattr(scope, "nested_type", ()):
        if not message.options.map_entry:
            found += Counter((field.name, field.number) for field in message.field)
            found += numbers(message)
    return found


@pytest.mark.parametrize("path", PROTOS, ids=lambda path: path.stem)
def test_stubs_match_their_text(path: Path) -> None:
    """A changed .proto file without `make proto` is found here."""
    text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
    file = generated(path)
    written = Counter((name, int(number)) for name, number in _NUMBERED.findall(text))
    assert numbers(file) == written
    calls = [(name, bool(up), bool(down)) for name, up, down in _RPC.findall(text)]
    made = [
        (method.name, method.client_streaming, method.server_streaming)
        for service in file.service
        for method in service.method
    ]
    assert made == calls
    assert (FOLDER / f"{path.stem}_grpc.py").exists() is bool(calls)


@pytest.mark.parametrize(
    ("message", "field", "number"),
    [
        (machine_pb2.ApplyConfigurationRequest, "mode", 4),
        (machine_pb2.BootstrapRequest, "recover_etcd", 1),
        (machine_pb2.EtcdMember, "id", 2),
        (machine_pb2.EtcdMemberStatus, "member_id", 10),
        (machine_pb2.ResetRequest, "system_partitions_to_wipe", 3),
        (machine_pb2.Event, "actor_id", 4),
        (cosi_pb2.Metadata, "labels", 10),
        (cosi_pb2.WatchRequest, "api_version", 5),
        (cosi_pb2.Event, "old", 3),
    ],
)
def test_numbers_on_the_wire(message: Any, field: str, number: int) -> None:
    """A few that are easy to get wrong, because they skip or are out of order."""
    assert message.DESCRIPTOR.fields_by_name[field].number == number


def test_no_standard_module_is_hidden() -> None:
    """Packages called time, inspect and resource live under names of their own."""
    import_module("talops.talos.wire.time_pb2")
    import_module("talops.talos.wire.inspect_pb2")
    import time

    assert sys.modules["time"] is time
    assert not hasattr(time, "DESCRIPTOR")


def test_partial_service_has_every_method() -> None:
    """A server may implement some methods; the paths are those that talosctl calls."""
    paths = partial(MachineServiceBase)().__mapping__()
    assert "/machine.MachineService/ApplyConfiguration" in paths
    assert len(paths) == len(machine_pb2.DESCRIPTOR.services_by_name["MachineService"].methods)
