"""What outlives a run: nodes that are being replaced, and nodes that were protected."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from talops.app.infra.health import watched
from talops.app.infra.layers import OpenLayers, Order
from talops.errors import ConflictError, TalopsError
from talops.rolls.removal.replacing import Replacements
from talops.site.protection import Protected
from talops.site.site import ClosedSite
from talops.site.state import backends
from talops.site.state.remembered import Remembered
from talops.statestore.backends.local import LocalBackend
from talops.statestore.model import Retention

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Example


@pytest.fixture
def site(example: Example, tmp_path: Path) -> ClosedSite:
    cluster = example("ha")
    own = replace(cluster, state=replace(cluster.state, kind="local"))
    return ClosedSite(own, tmp_path / "mine", {}, {})


def protecting(site: ClosedSite, *names: str) -> ClosedSite:
    nodes = tuple(replace(n, protected=n.name in names) for n in site.cluster.nodes)
    return replace(site, cluster=replace(site.cluster, nodes=nodes))


def without(site: ClosedSite, name: str) -> ClosedSite:
    nodes = tuple(node for node in site.cluster.nodes if node.name != name)
    return replace(site, cluster=replace(site.cluster, nodes=nodes))


async def test_protection_outlives_the_entry(site: ClosedSite) -> None:
    """A deleted entry takes nothing away; an entry without the flag does."""
    await Protected(protecting(site, "ha-w-1")).keep()
    deleted = without(site, "ha-w-1")
    for _ in range(2):
        with pytest.raises(ConflictError, match="ha-w-1: protected when its entry was") as no:
            await Protected(deleted).require_unprotected(["ha-w-1", "ha-w-2"])
        assert "back without `protected: true`" in str(no.value.hint)
        await Protected(deleted).keep()
    await Protected(deleted).require_unprotected(["ha-w-2"])
    with pytest.raises(ConflictError, match="refused to remove ha-w-1"):
        await Protected(deleted).require_none_left()
    nothing: Any = None
    run = OpenLayers(site.root, (), site.root, lambda _: None, deleted.cluster, {}, {})
    order = await watched(run, Order(), nothing, nothing)
    assert order.policy.protected == {"ha-w-1"}
    await Protected(site).keep()
    await Protected(deleted).require_unprotected(["ha-w-1"])


async def test_a_colleague_sees_it(
    site: ClosedSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside shared states, an interrupted replacement is known in another clone."""
    files = {"ha.replacing": tmp_path / "record.tfstate"}

    def backend(_: Any) -> LocalBackend:
        return LocalBackend(files, tmp_path / "copies", Retention(5, 30))

    monkeypatch.setattr(backends, "backend_of", backend)
    here = replace(
        site, cluster=replace(site.cluster, state=replace(site.cluster.state, kind="s3"))
    )
    there = replace(here, root=tmp_path / "theirs")
    await Replacements(site).begin("ha-w-2", "before the states were shared")
    await Replacements(here).begin("ha-w-1", "uid")
    assert await Replacements(there).begun("ha-w-1") == "uid"
    assert await Replacements(there).begun("ha-w-2") == "before the states were shared"
    await Replacements(there).ended("ha-w-1")
    assert await Replacements(here).begun("ha-w-1") is None
    assert await Replacements(here).begun("ha-w-2") is not None


async def test_unreadable_is_not_empty(site: ClosedSite) -> None:
    """A replacement is not begun twice because its record is damaged."""
    record = Remembered(site, "replacing", "replacements", "none was interrupted")
    await record.write({"ha-w-1": ""})
    (site.root / ".talops/replacing.json").write_text("{", encoding="utf-8")
    with pytest.raises(TalopsError, match="replacements cannot be read") as broken:
        await Replacements(site).begun("ha-w-1")
    assert "replacing.json" in str(broken.value.where)
