"""Every message of our .proto texts against the real Talos library's own, field by field."""

from __future__ import annotations

import base64
import importlib
import pkgutil
from typing import TYPE_CHECKING

import pytest
from google.protobuf import message_factory
from google.protobuf.json_format import MessageToDict

from talops.talos import wire

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Iterator

    from google.protobuf.descriptor import Descriptor
    from tests.oracle.asking import Oracle

# The same message under a name of ours.
NAMES = {"common.RpcStatus": "google.rpc.Status"}
# Newer than the library, or of a part of Talos that it does not use.
UNKNOWN_TO: dict[str, set[str]] = {
    "1.13": {
        *("cosi.resource.TeardownOptions", "cosi.resource.TeardownAndDestroyOptions"),
        *("cosi.resource.TeardownRequest", "cosi.resource.TeardownAndDestroyRequest"),
        *("cosi.resource.TeardownResponse", "cosi.resource.TeardownAndDestroyResponse"),
        "talos.resource.definitions.cluster.ServiceEndpoint",
        "talos.resource.definitions.network.NameServerSpec",
        "talos.resource.definitions.runtime.BootIDSpec",
        "talos.resource.definitions.runtime.ImageFactorySchematicSpec",
        "talos.resource.definitions.runtime.UnattendedInstallStatusSpec",
    },
    "1.14": set(),
}
# Fields that talops has no use for; whatever else the library sets must arrive.
_VOLUME = "talos.resource.definitions.block.VolumeStatusSpec"
LEFT_OUT = {
    *(f"{_VOLUME}.{name}" for name in ("symlink_spec", "mount_spec", "encryption_slot")),
    *(f"{_VOLUME}.{name}" for name in ("encryption_locked_to_state", "tpm_encryption_options")),
    *(f"{_VOLUME}.{name}" for name in ("encryption_allow_discards", "trim_enabled")),
    *(f"{_VOLUME}.{name}" for name in ("trim_interval", "scrub_enabled", "scrub_interval")),
    "talos.resource.definitions.etcd.SpecSpec.extra_args",
    "talos.resource.definitions.k8s.KubeletSpecSpec.credential_provider_config",
    "talos.resource.definitions.k8s.KubeletSpecSpec.extra_mounts",
    "talos.resource.definitions.network.LinkStatusSpec.bond_master",
    "talos.resource.definitions.network.LinkStatusSpec.veth",
    "talos.resource.definitions.network.LinkStatusSpec.vrf_master",
    "talos.resource.definitions.network.LinkStatusSpec.wireguard",
    "talos.resource.definitions.network.RouteStatusSpec.next_hops",
}

pytestmark = pytest.mark.slow


def every_message() -> Iterator[Descriptor]:
    for module in pkgutil.iter_modules(wire.__path__):
        if module.name.endswith("_pb2"):
            file = importlib.import_module(f"{wire.__name__}.{module.name}").DESCRIPTOR
            yield from _with_inner(file.message_types_by_name.values())


def _with_inner(messages: Iterable[Descriptor]) -> Iterator[Descriptor]:
    for message in messages:
        if not message.GetOptions().map_entry:
            yield message
            yield from _with_inner(message.nested_types)


@pytest.mark.parametrize("library", list(UNKNOWN_TO))
def test_messages(rng: random.Random, oracle: Callable[[str], Oracle], library: str) -> None:
    """What the library sends, all fields set, arrives with the same values under the same names."""
    known = set(oracle(library).ask("message-definitions"))
    messages = {NAMES.get(one.full_name, one.full_name): one for one in every_message()}
    assert messages.keys() - known <= UNKNOWN_TO[library]
    for name in sorted(messages.keys() & known):
        sent = oracle(library).ask("message", name=name, seed=rng.randrange(1 << 32))
        received = message_factory.GetMessageClass(messages[name])()
        received.ParseFromString(base64.b64decode(sent["wire"] or ""))
        got = MessageToDict(received, preserving_proto_field_name=True, use_integers_for_enums=True)
        expected = {
            key: value for key, value in sent["fields"].items() if f"{name}.{key}" not in LEFT_OUT
        }
        assert got == expected, name
