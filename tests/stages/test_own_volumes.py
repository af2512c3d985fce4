"""Which volumes a reset wipes where the boot disk has to keep Talos."""

from __future__ import annotations

import pytest
from tests.recordings.talos import exchanges

from talops.rolls.wiping import own_volumes
from talops.talos.kinds import VOLUMES, Volume
from talops.talos.resources import decode_resource
from talops.talos.wire import cosi_pb2


def recorded() -> list[Volume]:
    """Those of a real control plane of Talos 1.13."""
    found = []
    for exchange in exchanges():
        if exchange.method.endswith("State/List") and exchange.node == "controlplane":
            for response in exchange.responses:
                resource = decode_resource(cosi_pb2.ListResponse.FromString(response).resource)
                found += [VOLUMES.decode(resource)] if resource.type == VOLUMES.type else []
    return found


def test_directories_go_with_their_volume() -> None:
    """Talos 1.13 has a volume ETCD that is a directory: naming it would be refused."""
    volumes = recorded()
    assert "ETCD" in {volume.id for volume in volumes}
    assert own_volumes(volumes) == ("STATE", "EPHEMERAL")


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        ([], ()),
        ([Volume("ETCD", "partition", "/dev/sdb1")], ("ETCD",)),
        (
            [Volume("LOG", "partition", "/dev/sda9"), Volume("CRI", "partition", "/dev/sdb1")],
            ("CRI", "LOG"),
        ),
        ([Volume("KUBELET", "directory", "")], ()),
        (
            [Volume("u-data", "partition", "/dev/sdc1"), Volume("META", "partition", "/dev/sda3")],
            (),
        ),
    ],
)
def test_volumes_of_their_own(volumes: list[Volume], expected: tuple[str, ...]) -> None:
    """On 1.14 etcd's data may lie elsewhere; a wipe that left it would leave a dead member."""
    assert own_volumes(volumes) == ("STATE", "EPHEMERAL", *expected)
