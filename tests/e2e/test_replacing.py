"""Several nodes that can only be replaced: refused together, replaced one after the other."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.living import does, edit, kube_nodes

from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from tests.e2e.conftest import Lab

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(1800)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
W1, W2 = "e2e-w-1", "e2e-w-2"
ENCRYPTED = """worker_patches:
  - apiVersion: v1alpha1
    kind: VolumeConfig
    name: EPHEMERAL
    encryption: {provider: luks2, keys: [{slot: 0, nodeID: {}}]}
"""


async def test_two_nodes_that_must_be_replaced(make_lab: MakeLab) -> None:
    """Other MACs and another encryption of both: each replacement leaves the other node alone."""
    async with make_lab(spec=LabSpec(timing=0.0), control_planes=1, workers=2) as lab:
        await does(lab, "secrets", "init")
        await does(lab, "up", "--yes")
        await _encryption_is_refused_before_provision(lab)
        _other_macs(lab)
        assert await _refused(lab) == {W1, W2}
        for name, left in ((W1, {W2}), (W2, set())):
            before = _machines(lab)
            await does(lab, "replace", name, "--yes")
            after = _machines(lab)
            assert {vm for vm in before if before[vm] != after[vm]} == {name}
            if left:
                assert await _refused(lab) == left
        assert await kube_nodes(lab) == set(lab.vms())
        assert "nothing to change" in (await does(lab, "up", "--yes")).everything


async def _encryption_is_refused_before_provision(lab: Lab) -> None:
    """Also where OpenTofu has something to do that could be done."""
    file = lab.root / "cluster.yaml"
    file.write_text(file.read_text(encoding="utf-8") + ENCRYPTED, encoding="utf-8")
    nodes = lab.root / "nodes.yaml"
    text = nodes.read_text(encoding="utf-8")
    edit(lab, W1, vm_cores=6)
    before = _machines(lab)
    refused = await lab.talops("up", "--yes")
    assert refused.code == 1, refused.everything
    assert f"{W1}: encryption of EPHEMERAL" in refused.everything
    assert f"talops replace {W1}" in refused.everything
    assert _machines(lab) == before, "nothing restarted"
    nodes.write_text(text, encoding="utf-8")


def _other_macs(lab: Lab) -> None:
    for name, mac in ((W1, "BC:24:11:FE:00:01"), (W2, "BC:24:11:FE:00:02")):
        edit(lab, name, mac_addr=mac)


async def _refused(lab: Lab) -> set[str]:
    """The nodes that have to be replaced, as `up` says."""
    done = await lab.talops("up", "--yes")
    assert done.code == 1, done.everything
    return set(re.findall(r"talops replace (e2e-w-\d)", done.everything))


def _machines(lab: Lab) -> dict[str, tuple[str, str]]:
    return {
        name: (vm.config["smbios1"], str(vm.config.get("cores"))) for name, vm in lab.vms().items()
    }
