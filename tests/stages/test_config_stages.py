"""Who is configured when: control planes are waited for, then etcd is founded, then workers."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from talops.errors import UnreachableError, WaitTimeoutError
from talops.machineconfig.build import build_configs
from talops.pipeline.planning import Plan, make_plan
from talops.pipeline.stage import Reporter, Seen
from talops.site.enrolment.admission import Admission
from talops.site.fleet import Configured, InMaintenance, Unreachable
from talops.site.node_facts import NodeFacts, change_for
from talops.site.secrets_file import SecretsFile
from talops.site.site import Limits, Site
from talops.stages.apply_config import ApplyConfig
from talops.stages.workers import Workers
from talops.talos.calls.machine import ApplyMode
from talops.talos.errors import ConfiguredError, PreconditionError
from talops.talos.kinds import LinkStatus, MachineStatus

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.examples import Example

    from talops.inventory.model import Cluster, Node
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.site.fleet import State

RUNNING = MachineStatus("running", ready=True, unmet=())
DOWN = Unreachable(UnreachableError("connection refused"))
OTHER = Configured("machine: {type: worker}\n", RUNNING)
KEY = "A" * 43 + "="
# What the inventory does not contain any more; Talos drops it without a reboot.
EXTRA = "---\napiVersion: v1alpha1\nkind: KmsgLogConfig\nname: old\nurl: tcp://10.0.0.9:514/\n"


@dataclass
class World:
    """Nodes as the stages see them: each look takes the next of a node's states."""

    states: dict[str, list[State]]
    etcd: bool = False
    # What maintenance mode answers to a first config.
    refusals: list[Exception] = field(default_factory=list)
    given: list[str] = field(default_factory=list)

    def next(self, name: str) -> State:
        left = self.states[name]
        return left.pop(0) if len(left) > 1 else left[0]

    async def look(self, node: Node) -> State:
        return self.next(node.name)

    async def look_at_all(self, nodes: Iterable[Node]) -> dict[str, State]:
        return {node.name: self.next(node.name) for node in nodes}

    async def has_etcd(self, _: object) -> bool:
        return self.etcd

    def candidate(self, node: Node) -> Any:
        """A machine that shows the key which the test accepted for every node."""

        async def find(*_: object) -> None:
            return None

        async def links(*_: object) -> list[LinkStatus]:
            return [LinkStatus("eth0", "", node.mac, "", up=True, mtu=1500, kind="")]

        return contextlib.nullcontext(
            SimpleNamespace(
                link=SimpleNamespace(fingerprint=KEY),
                resources=SimpleNamespace(find=find, all=links),
                machine=SimpleNamespace(apply_configuration=self._apply(node)),
            )
        )

    def _apply(self, node: Node) -> Any:
        async def apply(*_: object, **__: object) -> None:
            if self.refusals:
                raise self.refusals.pop(0)
            self.given.append(node.name)

        return apply

    def maintenance(self, _: Node) -> Any:
        async def disks() -> list[object]:
            raise ConfiguredError("the node is not in maintenance mode")

        return contextlib.nullcontext(SimpleNamespace(storage=SimpleNamespace(disks=disks)))

    def talos(self, node: Node) -> Any:
        async def apply(*_: object, dry_run: bool = False, **__: object) -> Any:
            if not dry_run:
                self.given.append(node.name)
            return SimpleNamespace(mode=ApplyMode.NO_REBOOT)

        async def version() -> Any:
            return SimpleNamespace(tag="v1.13.9")

        async def boot_id() -> str:
            return "boot"

        return contextlib.nullcontext(
            SimpleNamespace(
                machine=SimpleNamespace(apply_configuration=apply),
                files=SimpleNamespace(boot_id=boot_id),
                version=version,
            )
        )


@dataclass(frozen=True)
class Scene:
    cluster: Cluster
    right: dict[str, Configured]
    site: Any
    secrets: Any
    world: World

    @property
    def workers(self) -> list[str]:
        return [node.name for node in self.cluster.nodes if not node.controller]

    def apply_config(self) -> ApplyConfig:
        report = Reporter("apply-config", lambda _: None)
        return ApplyConfig(self.site, self.secrets, report, admission=self.admission)

    def worker_stage(self) -> Workers:
        report = Reporter("workers", lambda _: None)
        return Workers(self.site, self.secrets, report, self.admission)

    @property
    def admission(self) -> Admission:
        return Admission(dict.fromkeys(self.right, KEY))

    async def plan(self) -> Plan:
        return await make_plan([self.apply_config(), self.worker_stage()], {}, lambda _: None)


@pytest.fixture
def scene(
    example: Example, bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Scene:
    """The HA example, all of it configured and running."""
    cluster = example("ha")
    configs = build_configs(cluster, bundle, lambda _: "")
    right = {name: Configured(config.to_yaml(), RUNNING) for name, config in configs.items()}
    world = World({name: [state] for name, state in right.items()}, etcd=True)
    nothing: Any = None
    quick = Limits(install=0.2, interval=0.01)
    site = Site(cluster, tmp_path, {}, {}, nothing, tmp_path, tmp_path, quick)
    secrets = SecretsFile(site, lambda *_: None)

    async def read() -> Bundle:
        return bundle

    async def fleet() -> World:
        return world

    async def joins_etcd(*_: object) -> bool:
        return False  # this world has no members to ask

    monkeypatch.setattr("talops.site.node_configs.joins_etcd", joins_etcd)
    monkeypatch.setattr(secrets, "read", read)
    monkeypatch.setattr(secrets, "fleet", fleet)
    return Scene(cluster, right, site, secrets, world)


def changes(plan: Plan) -> list[tuple[str, str, str]]:
    return [(p.stage.name, c.action, c.target) for p in plan.stages for c in p.changes]


async def test_all_right(scene: Scene) -> None:
    """Nothing to do for either stage, and no wait."""
    assert changes(await scene.plan()) == []


async def test_all_new(scene: Scene) -> None:
    """All get their first config from `apply-config`; `workers` only waits."""
    scene.world.states = {name: [InMaintenance()] for name in scene.right}
    scene.world.etcd = False
    found = changes(await scene.plan())
    assert {stage for stage, _, _ in found} == {"apply-config"}
    assert {target for _, _, target in found} == set(scene.right)


async def test_silent_workers_without_etcd(scene: Scene) -> None:
    """With a VIP and no discovery service they answer only after `bootstrap`: no deadlock."""
    scene.world.states |= {name: [DOWN] for name in scene.workers}
    scene.world.etcd = False
    assert changes(await scene.plan()) == [("workers", "await", name) for name in scene.workers]


async def test_silent_workers_beside_etcd(scene: Scene) -> None:
    """With etcd nothing excuses them."""
    scene.world.states |= {name: [DOWN] for name in scene.workers}
    with pytest.raises(UnreachableError, match=f"no answer from {scene.workers[0]}"):
        await scene.plan()


async def test_a_silent_control_plane(scene: Scene) -> None:
    """A control plane is never excused."""
    first = scene.cluster.control_planes[0].name
    scene.world.states |= {first: [DOWN]}
    scene.world.etcd = False
    with pytest.raises(UnreachableError, match=f"no answer from {first}"):
        await scene.plan()


async def test_only_control_planes_are_waited_for(scene: Scene) -> None:
    """A new worker may stay silent for as long as it takes to bootstrap etcd."""
    worker = scene.workers[0]
    scene.world.states |= {worker: [InMaintenance(), DOWN]}
    stage = scene.apply_config()
    facts: Any = await stage.observe()
    assert facts is not None
    (change,) = stage.plan(facts)
    await stage.apply(change)
    assert scene.world.given == [worker]
    await stage.verify(Seen(facts, (change,)))
    follower = scene.worker_stage()
    late: Any = await follower.observe()
    with pytest.raises(WaitTimeoutError, match=f"{worker} to run its config.*connection refused"):
        await follower.verify(Seen(late))


async def test_a_late_worker_gets_what_it_lacks(scene: Scene) -> None:
    """It had an older config from an earlier run, and answers once etcd runs."""
    worker = scene.workers[0]
    older = Configured(scene.right[worker].config + EXTRA, RUNNING)
    scene.world.states |= {worker: [DOWN, DOWN, older, scene.right[worker]]}
    stage = scene.worker_stage()
    facts: Any = await stage.observe()
    (change,) = stage.plan(facts)
    assert change.action == "await"
    await stage.apply(change)
    assert scene.world.given == [worker]
    await stage.verify(Seen(facts, (change,)))


@pytest.mark.parametrize(
    "refusal",
    [
        PreconditionError("configuration was already applied and node is rebooting"),
        ConfiguredError("the node is not in maintenance mode"),
    ],
    ids=["rebooting", "configured"],
)
async def test_a_config_from_a_run_before(scene: Scene, refusal: Exception) -> None:
    """A node that took one a moment ago is "not yet": it is looked at again, not given up."""
    plane = scene.cluster.control_planes[0].name
    scene.world.states |= {plane: [InMaintenance(), InMaintenance(), DOWN, scene.right[plane]]}
    scene.world.refusals = [refusal, refusal]
    stage = scene.apply_config()
    facts: Any = await stage.observe()
    (change,) = stage.plan(facts)
    await stage.apply(change)
    assert scene.world.given == []
    await stage.verify(Seen(facts, (change,)))


async def test_leaving_maintenance_mode_while_asked(scene: Scene) -> None:
    """No sentence says that a node is and is not in maintenance mode."""
    plane = scene.cluster.control_planes[0]
    scene.world.states |= {plane.name: [InMaintenance()]}
    stage = scene.apply_config()
    facts: Any = await stage.observe()
    with pytest.raises(WaitTimeoutError, match="last reason: it is leaving maintenance mode"):
        await stage.verify(Seen(facts))


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (
            NodeFacts(InMaintenance(), same=False),
            "install n (first config: installs, then reboots)",
        ),
        (NodeFacts(DOWN, same=False), "await n (does not answer until a control plane signs its "),
        (NodeFacts(OTHER, same=True), "None"),
        (
            NodeFacts(OTHER, False, ApplyMode.NO_REBOOT, ("machine.time",)),
            "apply n (machine.time: without a reboot)",
        ),
        (
            NodeFacts(OTHER, False, ApplyMode.REBOOT, ("machine.files",)),
            "apply n (machine.files: reboots)",
        ),
        (
            NodeFacts(OTHER, False, ApplyMode.NO_REBOOT, ("machine.env",), ("machine.env.A",)),
            "apply n (machine.env: reboots for machine.env.A)",
        ),
    ],
    ids=["new", "silent", "same", "live", "the node reboots", "talops knows of the reboot"],
)
def test_change_for(seen: NodeFacts, expected: str) -> None:
    """Decided from facts alone; Talos 1.14 never reports that a reboot is needed."""
    assert str(change_for("n", seen)).startswith(expected)
