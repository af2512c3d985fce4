"""Keys of contract 1.14 change through the phases of a rotation, and in no other way."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from talops.machineconfig.contract import Contract
from talops.machineconfig.generate import generate
from talops.machineconfig.request import ClusterRequest, NodeRequest
from talops.machineconfig.secrets import bundle as bundles
from talops.machineconfig.secrets.rotating import Phase, Rotated
from talops.machineconfig.shared_secrets import other_secrets
from talops.rotation.phases import advance, begin

if TYPE_CHECKING:
    from talops.machineconfig.secrets.bundle import Bundle

NOW = datetime.now(UTC)


def rounds(rotated: Rotated) -> list[Any]:
    """Configs of a control plane: before, accept, issue, drop, afterwards."""
    found = [bundles.generate(NOW)]
    found.append(begin(found[0], rotated, NOW))
    for _ in Phase:
        found.append(advance(found[-1], rotated))
    assert found[-1].rotations == {}
    return [config(bundle) for bundle in found]


def config(bundle: Bundle) -> Any:
    cluster = ClusterRequest("demo", Contract.V1_14, "https://10.5.0.10:6443", "1.37.0")
    node = NodeRequest("cp-1", control_plane=True, installer="installer:v1", disk="/dev/a")
    return generate(cluster, node, bundle).documents


def names(before: Any, after: Any) -> list[str]:
    return [each.name for each in other_secrets(before, after)]


@pytest.mark.parametrize("rotated", [Rotated.SERVICE_ACCOUNT, Rotated.ENCRYPTION])
def test_each_phase_follows_the_one_before(rotated: Rotated) -> None:
    """And a checkout of before the rotation is refused as soon as the new key is in use."""
    configs = rounds(rotated)
    for before, after in itertools.pairwise(configs):
        assert names(before, after) == []
    for used in configs[2:]:
        assert len(names(used, configs[0])) == 1
    assert len(names(configs[0], configs[2])) == (0 if rotated is Rotated.ENCRYPTION else 1)
    assert len(names(configs[0], configs[3])) == 1
    assert len(names(configs[1], configs[4])) == 1
