"""With a lost etcd member, no other control plane is stopped by accident (row 5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from tests.tofu.world import World, address
from tests.tofu.world import node as vm

from talops.errors import ConflictError
from talops.site import etcd_guard
from talops.site.etcd_guard import EtcdGuard
from talops.site.site import Limits
from talops.talos.membership import Etcd, objection_to_stop
from talops.talos.wire import machine_pb2 as pb
from talops.tofu.apply import Applier
from talops.tofu.apply_options import ApplyOptions
from talops.tofu.creation_record import CreationRecord
from talops.tofu.policy import Policy, RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.examples import Example
    from tests.talos.conftest import FakeNode

    from talops.tofu.engine import Engine
    from talops.tofu.ordering import Batch
    from talops.tofu.plan import Change

PLANES = ("cp-1", "cp-2", "cp-3")


@dataclass
class Member:
    """etcd as it stands: `down` members give no answer, `ill` ones say that they have no leader."""

    down: set[str] = field(default_factory=set)
    ill: set[str] = field(default_factory=set)
    names: tuple[str, ...] = PLANES

    def seen(self) -> Etcd:
        silent = dict.fromkeys(sorted(self.down), "connection refused")
        ill = dict.fromkeys(sorted(self.ill), "no leader")
        healthy = frozenset(self.names) - self.down - self.ill
        return Etcd(dict.fromkeys(self.names, 1), healthy, silent, ill)


@dataclass
class Scene:
    """A plan for three control planes, applied by the real applier under the real guard."""

    world: World
    etcd: Member
    folder: Path
    stopped: list[set[str]] = field(default_factory=list)

    async def healthy(self, batch: Batch) -> None:
        self.etcd.down -= {*batch.names}
        self.etcd.ill -= {*batch.names}

    async def apply(self, policy: Policy | None = None, **more: Any) -> None:
        policy = policy or Policy()

        async def fleet() -> Any:
            return object()

        planes = [SimpleNamespace(name=name) for name in PLANES]
        cluster: Any = SimpleNamespace(control_planes=planes)
        quick = Limits(boot=0.05, etcd=0.05, interval=0.01)
        guard = EtcdGuard(cluster, self.folder, fleet, quick, policy.allow_unhealthy_etcd)
        conduct = ApplyOptions(
            policy,
            read_disks=_read_disks,
            healthy=self.healthy,
            guard=guard,
            pauses=(0, 0, 0),
            **more,
        )
        saved = self.folder / "x.tfplan"
        await self.world.plan(saved, destroy=conduct.destroy, targets=conduct.targets)
        diary = CreationRecord(self.folder / "creating.json")
        await Applier(cast("Engine", self.world), conduct, diary).apply(saved)


async def _read_disks(changes: Sequence[Change]) -> dict[int, frozenset[str]]:
    return {c.vm_id: frozenset({"scsi0"}) for c in changes if c.vm_id is not None}


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """All three run and shall get more cores."""
    wanted = {name: vm(name, cpu=[{"cores": 8}], started=True) for name in PLANES}
    actual = {name: vm(name, started=True) for name in PLANES}
    found = Scene(World(wanted=wanted, actual=actual), Member(), tmp_path)

    async def look(*_: object) -> Etcd:
        return found.etcd.seen()

    monkeypatch.setattr(etcd_guard, "look_at_etcd", look)
    return found


async def test_more_cores_while_a_member_is_off_starts_it_first(scene: Scene) -> None:
    """The member that is missing comes back before another one restarts."""
    scene.world.actual["cp-2"]["started"] = False
    scene.etcd.down = {"cp-2"}
    await scene.apply()
    assert scene.world.restarted == [{"cp-2"}, {"cp-1"}, {"cp-3"}]


async def test_a_member_that_is_off_starts_before_a_restart_of_another(scene: Scene) -> None:
    """Although its own change would be harmless at any time."""
    scene.world.actual["cp-2"]["started"] = False
    scene.world.wanted["cp-2"] = vm("cp-2", started=True)
    scene.world.wanted["cp-3"] = vm("cp-3", started=True)
    scene.etcd.down = {"cp-2"}
    await scene.apply()
    assert scene.world.restarted == [{"cp-1"}]
    assert scene.world.actual == scene.world.wanted


async def test_restart_while_another_member_is_lost(scene: Scene) -> None:
    """Nothing changes, and the error names both members and the way out."""
    scene.world.wanted |= {name: vm(name, started=True) for name in ("cp-2", "cp-3")}
    scene.etcd.down = {"cp-2"}
    with pytest.raises(RefusedError, match=r"cp-1: .* without cp-2 \(connection refused\)") as why:
        await scene.apply()
    assert scene.world.applied == []
    assert "--allow-unhealthy-etcd cp-1" in str(why.value.hint)
    await scene.apply(Policy(allow_unhealthy_etcd=frozenset({"cp-1"})))
    assert scene.world.restarted == [{"cp-1"}]


async def test_a_sick_member_restarts_before_the_healthy_ones(scene: Scene) -> None:
    """One that says that it has no leader can only win."""
    scene.etcd.ill = {"cp-3"}
    await scene.apply()
    assert scene.world.restarted == [{"cp-3"}, {"cp-1"}, {"cp-2"}]


async def test_two_silent_members_are_not_restarted(scene: Scene) -> None:
    """Silent is not dead: one of them may hold the majority with the third."""
    scene.etcd.down = {"cp-2", "cp-3"}
    with pytest.raises(RefusedError):
        await scene.apply()
    assert scene.world.applied == []


async def test_a_member_is_lost_between_two_restarts(scene: Scene) -> None:
    """Etcd is asked before every restart, not only before the first."""

    async def healthy(batch: Batch) -> None:
        if batch.names == ("cp-1",):
            scene.etcd.down = {"cp-3"}

    scene.healthy = healthy  # type: ignore[method-assign]
    with pytest.raises(RefusedError, match="cp-2"):
        await scene.apply()
    assert scene.world.restarted == [{"cp-1"}]


async def test_a_member_is_lost_before_a_retry(scene: Scene) -> None:
    """A second attempt is a second restart."""
    scene.world.faults = {"cp-1": ["got timeout"]}
    apply = scene.world.apply

    async def losing(*given: Any, **more: Any) -> None:
        scene.etcd.down = {"cp-3"}
        await apply(*given, **more)

    scene.world.apply = losing  # type: ignore[method-assign]
    with pytest.raises(RefusedError, match="cp-1"):
        await scene.apply()
    assert scene.world.restarted == []


@pytest.mark.parametrize("destroy", [False, True], ids=["replace", "destroy"])
async def test_named_destruction_while_another_member_is_lost(scene: Scene, destroy: bool) -> None:
    """`--allow-replace` and `--allow-destroy` apply to the VM; etcd has an option of its own."""
    scene.world.wanted = {name: vm(name, started=True) for name in PLANES}
    scene.world.tainted = {"cp-1"}
    scene.etcd.down = {"cp-2"}
    name = frozenset({"cp-1"})
    more = {"destroy": destroy, "targets": (address("cp-1"),)}
    with pytest.raises(RefusedError, match="without cp-2"):
        await scene.apply(Policy(allow_replace=name, allow_destroy=name), **more)
    assert scene.world.applied == []
    named = Policy(allow_replace=name, allow_destroy=name, allow_unhealthy_etcd=name)
    await scene.apply(named, **more)
    assert len(scene.world.applied) == 1


async def test_a_lost_member_is_replaced(scene: Scene) -> None:
    """What repairs etcd needs no more than its own name."""
    scene.world.wanted = {name: vm(name, started=True) for name in PLANES}
    scene.world.tainted = {"cp-2"}
    scene.etcd.down = {"cp-2"}
    await scene.apply(Policy(allow_replace=frozenset({"cp-2"})))
    assert scene.world.tainted == set()


async def test_control_planes_of_a_cluster_that_cannot_be_asked(scene: Scene) -> None:
    """No answer at all is not the same as no etcd."""
    scene.etcd = Member(names=())
    scene.etcd.seen = lambda: Etcd({}, frozenset(), {"cp-1": "no route"})  # type: ignore[method-assign]
    with pytest.raises(RefusedError, match="cannot be asked"):
        await scene.apply()
    assert scene.world.applied == []
    scene.etcd.seen = lambda: Etcd({}, frozenset(), {}, founded=False)  # type: ignore[method-assign]
    await scene.apply()
    assert len(scene.world.restarted) == len(PLANES)


ALL = dict.fromkeys(PLANES, 1)
WELL = Etcd(ALL, frozenset(PLANES), {})
ONE_LOST = Etcd(ALL, frozenset({"cp-1", "cp-3"}), {"cp-2": "down"})
LEADERLESS = Etcd(ALL, frozenset({"cp-1"}), {"cp-2": "down"}, {"cp-3": "no leader"})
PAIR = Etcd({"cp-1": 1, "cp-2": 2}, frozenset({"cp-1", "cp-2"}), {})
SINGLE = Etcd({"cp-1": 1}, frozenset({"cp-1"}), {})


@pytest.mark.parametrize(
    ("name", "etcd", "for_good", "reason"),
    [
        ("cp-1", WELL, False, None),
        ("cp-1", WELL, True, None),
        ("cp-1", ONE_LOST, False, "without cp-2"),
        ("cp-2", ONE_LOST, False, None),
        ("cp-2", ONE_LOST, True, None),
        ("cp-3", LEADERLESS, False, None),
        ("cp-3", LEADERLESS, True, "without cp-2"),
        ("cp-1", PAIR, False, None),
        ("cp-1", PAIR, True, "lose its majority"),
        ("cp-1", SINGLE, False, None),
        ("cp-1", SINGLE, True, "the only etcd member"),
        ("w-1", ONE_LOST, True, None),
    ],
)
def test_objection(name: str, etcd: Etcd, for_good: bool, reason: str | None) -> None:
    """A restart stops a member for a while, a destruction permanently."""
    found = objection_to_stop(name, etcd, for_good=for_good)
    assert (found is None) if reason is None else (reason in (found or ""))


async def test_a_config_that_reboots_while_a_member_is_lost(
    example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`up` asks etcd before it reboots a control plane for its config, too."""
    planes = example("ha").control_planes
    names = [plane.name for plane in planes]

    async def look(*_: object) -> Etcd:
        return Etcd(dict.fromkeys(names, 1), frozenset(names[:-1]), {names[-1]: "down"})

    monkeypatch.setattr(etcd_guard, "look_at_etcd", look)
    fleet: Any = object()
    with pytest.raises(ConflictError, match=f"refused to restart {names[0]}"):
        await etcd_guard.require_etcd(fleet, planes, planes[0])
    await etcd_guard.require_etcd(fleet, planes, planes[0], {names[0]})
    await etcd_guard.require_etcd(fleet, planes, example("ha").workers[0])


def three_members(node: FakeNode, lost: str) -> None:
    """A node that is the first of three members and forwards calls to the others."""
    health = pb.ServiceHealth(healthy=True)
    services = [pb.ServiceInfo(id="etcd", state="Running", health=health)]
    node.on("ServiceList", pb.ServiceListResponse(messages=[pb.ServiceList(services=services)]))
    members = [
        pb.EtcdMember(id=i, hostname=f"cp-{i}", client_urls=[f"https://10.0.0.{i}:2379"])
        for i in (1, 2, 3)
    ]
    node.on("EtcdMemberList", pb.EtcdMemberListResponse(messages=[pb.EtcdMembers(members=members)]))

    async def status(_: Any, stream: Any) -> Any:
        if stream.metadata.get("node", "") == lost:
            return GRPCError(Status.UNAVAILABLE, "connection refused")
        state = pb.EtcdMemberStatus(member_id=1, leader=1)
        return pb.EtcdStatusResponse(messages=[pb.EtcdStatus(member_status=state)])

    node.on("EtcdStatus", status)
    node.on("Reset", pb.ResetResponse(messages=[pb.Reset(actor_id="a")]))
    node.on("Shutdown", pb.ShutdownResponse(messages=[pb.Shutdown(actor_id="a")]))
    node.on("Rollback", pb.RollbackResponse(messages=[pb.Rollback()]))


COMMANDS = {
    "reboot": ("reboot", "--no-wait"),
    "shutdown": ("shutdown",),
    "reset": ("reset", "--yes"),
    "rollback": ("rollback",),
    "upgrade": ("upgrade", "--image", "factory/installer:v1.13.9"),
}


@pytest.mark.parametrize("command", COMMANDS)
async def test_talos_commands_while_a_member_is_lost(
    talops: Any,
    node: FakeNode,
    command: str,
) -> None:
    """`talops talos …` stops no control plane while etcd misses another one."""
    three_members(node, lost="10.0.0.2")
    endpoint = f"127.0.0.1:{node.port}"
    code, _, err = await talops(*COMMANDS[command], "-n", endpoint)
    assert code == 1
    assert "refused to stop cp-1" in err
    assert "cp-2" in err
    asked = {method for method, _, _ in node.asked}
    assert not asked & {"Reboot", "Shutdown", "Reset", "Rollback", "Upgrade", "ImagePull"}


@pytest.mark.parametrize("command", ["shutdown", "reset", "rollback"])
async def test_talos_commands_on_a_named_control_plane(
    talops: Any,
    node: FakeNode,
    command: str,
) -> None:
    """Named with its own option, it stops."""
    three_members(node, lost="10.0.0.2")
    endpoint = f"127.0.0.1:{node.port}"
    code, _, err = await talops(
        *COMMANDS[command], "-n", endpoint, "--allow-unhealthy-etcd", endpoint
    )
    assert (code, err) == (0, "")
