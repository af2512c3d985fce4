"""What `talops retemplate` has left to do, and what it removes in the end."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from talops.app import pauses, templates
from talops.app.upgrades import retemplating
from talops.errors import ConflictError, TalopsError
from talops.inventory.model import Template as Planned
from talops.proxmox.provenance import Provenance
from talops.proxmox.templates import Template
from talops.rolls.options import DEFAULT
from talops.rolls.order import Candidate
from talops.rolls.removal.replacing import Replacements
from talops.rolls.roller import Roller
from talops.site.site import Site

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Example

    from talops.inventory.model import Cluster

NOTHING: Any = None
OLD, NEW = 9000, 9001
MADE = Provenance("v1.13.9", "a" * 64, "nocloud", secureboot=False, source="image")


class World:
    """States and templates as a test says."""

    def __init__(self, cluster: Cluster, root: Path, patch: pytest.MonkeyPatch) -> None:
        assert cluster.proxmox
        proxmox = replace(cluster.proxmox, boot="template", template=Planned("talos-new", NEW))
        own = replace(cluster, proxmox=proxmox, state=replace(cluster.state, kind="local"))
        self.site = Site(own, root, {}, {}, NOTHING, root, root)
        self.sources: dict[str, int | None] = dict.fromkeys(cluster.node_names, OLD)
        self.templates = [Template(OLD, "talos-old", "pve", MADE)]
        self.removed: list[int] = []
        patch.setattr(templates, "listed", self._listed)
        patch.setattr(templates, "build", self._build)
        patch.setattr(templates, "remove", self._remove)
        patch.setattr(retemplating, "_sources", self._sources)
        patch.setattr(Roller, "candidates", self._candidates)

    async def _listed(self, _: Any) -> list[Template]:
        return [t for t in self.templates if t.vm_id not in self.removed]

    async def _build(self, *_: Any) -> None:
        self.templates.append(Template(NEW, "talos-new", "pve", MADE))

    async def _remove(self, _: Any, name: str, hosts: list[str]) -> None:
        assert hosts == ["pve"]
        self.removed.append(int(name))

    async def _sources(self, _: Site) -> dict[str, int | None]:
        return self.sources

    async def _candidates(self, nodes: Any) -> list[Candidate]:
        return [Candidate(n.name, n.controller, leader=n.name == "ha-cp-1") for n in nodes]

    async def look(self) -> retemplating.Outlook:
        return await retemplating.look(self.site, NOTHING, DEFAULT)


@pytest.fixture
def world(example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(example("ha"), tmp_path, monkeypatch)


async def test_from_the_old_template_to_the_new_one(world: World) -> None:
    """All nodes in the order of a roll; interrupted, the begun one first; then the old one goes."""
    first = await world.look()
    names = [move.node for move in first.moves]
    assert names[:3] == ["ha-cp-2", "ha-cp-3", "ha-cp-1"], "the leader of etcd comes last"
    assert set(names) == set(world.site.cluster.node_names)
    assert first.builds
    assert [template.vm_id for template in first.old] == [OLD]
    await retemplating.prepare(world.site, NOTHING, first, print)

    world.sources["ha-cp-2"] = NEW
    del world.sources[names[-1]]  # its VM was destroyed, and the run was killed
    await Replacements(world.site).begin(names[-1], "uid")
    second = await world.look()
    assert [move.node for move in second.moves] == [names[-1], *names[1:-1]]
    assert not second.builds
    await retemplating.clean(world.site, NOTHING, print)
    assert world.removed == [], "nodes still stand on it"

    await Replacements(world.site).ended(names[-1])
    world.sources = dict.fromkeys(names, NEW)
    last = await world.look()
    assert last.moves == ()
    assert [template.vm_id for template in last.old] == [OLD], "recorded by the first run"
    await retemplating.clean(world.site, NOTHING, print)
    assert world.removed == [OLD]
    assert not (await world.look()).pending
    assert not (world.site.root / retemplating.RECORD).exists()


async def test_only_some_nodes(world: World) -> None:
    """The old template stays as long as another node needs it."""
    world.site = replace(world.site, nodes=re.compile("ha-cp-2"))
    found = await world.look()
    assert [move.node for move in found.moves] == ["ha-cp-2"]
    assert found.old == ()


async def test_refused_before_anything_changes(world: World) -> None:
    """Without a template in the inventory, for the only control plane, and in a pause."""
    whole = world.site
    assert whole.cluster.proxmox
    proxmox = replace(whole.cluster.proxmox, boot="iso")
    world.site = replace(whole, cluster=replace(whole.cluster, proxmox=proxmox))
    with pytest.raises(TalopsError, match="does not clone its VMs"):
        await world.look()
    planes = {node.name for node in whole.cluster.control_planes[1:]}
    left = tuple(node for node in whole.cluster.nodes if node.name not in planes)
    world.site = replace(whole, cluster=replace(whole.cluster, nodes=left))
    with pytest.raises(ConflictError, match="the only control plane") as refused:
        await world.look()
    assert "--nodes REGEX" in str(refused.value.hint)
    world.site = whole
    await pauses.pause(whole, "quarter end")
    with pytest.raises(TalopsError, match="quarter end; nothing was changed"):
        await world.look()
