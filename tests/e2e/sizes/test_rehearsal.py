"""An upgrade that is rehearsed in a second lab: refused there first, then made in both."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.living import does, host_of

from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from tests.e2e.conftest import Lab

pytestmark = [pytest.mark.slow, pytest.mark.chaos, pytest.mark.timeout(1800)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
OLD, NEW = "v1.13.9", "v1.14.1"


def versions(lab: Lab) -> set[str]:
    return {node.version for node in host_of(lab).fabric.nodes()}


async def test_rehearsed_and_made(make_lab: MakeLab) -> None:
    """The first rehearsal fails where the upgrade would; the second one leads to the upgrade."""
    async with make_lab(spec=LabSpec(timing=0.0), control_planes=1, workers=1) as lab:
        file = lab.root / "cluster.yaml"
        file.write_text(file.read_text().replace(f"talos_version: {NEW}", f"talos_version: {OLD}"))
        await lab.init_secrets()
        await does(lab, "up", "--yes")
        before = file.read_text()

        old_etcd = "{cluster: {etcd: {image: 'registry.k8s.io/etcd:v3.5.20'}}}"
        file.write_text(f"{before}controller_patches: [{old_etcd}]\n")
        words = ("upgrade", "--to", f"talos={NEW}", "--rehearse")
        refused = await lab.talops(*words, "--yes")
        assert refused.code == 1, refused.everything
        assert "the rehearsal failed: " in refused.everything
        assert "the cluster and cluster.yaml were not changed" in refused.everything
        assert NEW not in file.read_text()
        assert versions(lab) == {OLD}

        file.write_text(before)
        seen = await lab.talops(*words, "--dry-run")
        assert seen.code == 2, seen.everything
        assert "the rehearsal passed" in seen.everything
        assert versions(lab) == {OLD}
        log = (lab.root / ".talops" / "rehearsal.log").read_text()
        assert f"Talos {OLD} \u2192 {NEW}" in log
        assert "the rehearsal passed" in (await does(lab, *words, "--yes")).everything
        assert versions(lab) == {NEW}
