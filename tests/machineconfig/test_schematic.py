"""Schematic ids are those that the Image Factory gives."""

from __future__ import annotations

from typing import Any

import pytest

from talops.errors import TalopsError
from talops.inventory.schematics import identify, schematic_text
from talops.machineconfig.schematic import canonical

EMPTY_ID = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"

KNOWN: list[tuple[dict[str, Any], str]] = [
    ({}, EMPTY_ID),
    ({"customization": {}}, EMPTY_ID),
    ({"customization": {"extraKernelArgs": [], "systemExtensions": {}}}, EMPTY_ID),
    (
        {
            "customization": {
                "systemExtensions": {"officialExtensions": ["siderolabs/qemu-guest-agent"]}
            }
        },
        "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515",
    ),
    (
        {"customization": {"extraKernelArgs": ["noapic", "nolapic"]}},
        "9cba8e32753f91a16c1837ab8abf356af021706ef284aef07380780177d9a06c",
    ),
    (
        {"customization": {"meta": [{"key": 10, "value": "foo"}]}},
        "d308a2a5ee2277bed5fbaa104fcbc8d59122abfa737df987a95b4ca763459a7f",
    ),
    (
        {"customization": {"secureboot": {"includeWellKnownCertificates": True}}},
        "fa8e05f142a851d3ee568eb0a8e5841eaf6b0ebc8df9a63df16ac5ed2c04f3e6",
    ),
    (
        {"overlay": {"name": "rpi_generic", "image": "siderolabs/sbc-raspberrypi"}},
        "ee21ef4a5ef808a9b7484cc0dda0f25075021691c8c09a276591eedb638ea1f9",
    ),
    (
        {"customization": {"diskImage": {"sectorSize": 4096}}},
        "92833e9ddd9bb9e11b2464fa5525429f01866306d52ebd882ee08d7918f6d1ea",
    ),
]


@pytest.mark.parametrize(("data", "expected"), KNOWN)
def test_known_ids(data: dict[str, Any], expected: str) -> None:
    """Ids that the factory is known to give come out of the same content."""
    assert identify(canonical(data)) == expected


def test_order_of_keys_does_not_matter_order_of_lists_does() -> None:
    """Keys are put into the factory's order; lists are kept, so their order changes the id."""
    one = {"extraKernelArgs": ["a"], "systemExtensions": {"officialExtensions": ["x", "y"]}}
    same = dict(reversed(one.items()))
    other = one | {"systemExtensions": {"officialExtensions": ["y", "x"]}}
    assert canonical({"customization": one}) == canonical({"customization": same})
    assert canonical({"customization": one}) != canonical({"customization": other})


@pytest.mark.parametrize("extensions", [(), ("siderolabs/qemu-guest-agent",), ("a/b", "c/d")])
def test_the_inventory_writes_the_same(extensions: tuple[str, ...]) -> None:
    """The id in a node's image and the id shown by `talos schematic` are one."""
    data = {"customization": {"systemExtensions": {"officialExtensions": list(extensions)}}}
    assert schematic_text(extensions) == canonical(data)


@pytest.mark.parametrize(
    "data",
    [
        {"customisation": {}},
        {"customization": {"extraKernelArg": []}},
        {"customization": {"systemExtensions": {"extensions": []}}},
        {"customization": ["a"]},
        {"customization": {"extraKernelArgs": "noapic"}},
        {"customization": {"meta": [{"key": 10, "text": "foo"}]}},
        {"overlay": {"picture": "x"}},
    ],
)
def test_unknown_fields_are_refused(data: dict[str, Any]) -> None:
    """The factory refuses what it does not know; so do we, before it is asked."""
    with pytest.raises(TalopsError):
        canonical(data, where="schematic.yaml")
