"""With a lost etcd member, no command stops another control plane that was not named."""

from __future__ import annotations

import ast
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.examples import EXAMPLES
from tests.security.cluster.test_row_05_etcd_guard import COMMANDS, three_members
from tests.test_architecture import FILES, SRC

from talops.checks.after import endpoint
from talops.cli.app import COMMANDS as GROUPS
from talops.cli.app import build
from talops.cli.reference import leaves
from talops.errors import ConflictError, WaitTimeoutError
from talops.inventory.load import load
from talops.rolls import etcd as rolls_etcd
from talops.rolls.options import RollOptions
from talops.site import etcd_guard
from talops.site.site import Limits
from talops.stages.membership import leave
from talops.talos.membership import Etcd, objection_to_leave
from talops.talos.wire import machine_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.talos.conftest import FakeNode

HERE = "tests/security/cluster"
GUARD = f"{HERE}/test_row_05_etcd_guard.py"
LOST = f"{HERE}/test_lost_member.py"
CARDS = f"{HERE}/test_row_06_network_cards.py"

# Each command that can stop a control plane → the test in which etcd has lost another member.
STOPPING = {
    "talops up": f"{GUARD}::test_restart_while_another_member_is_lost",
    "talops recover": f"{GUARD}::test_restart_while_another_member_is_lost",
    "talops reset": "tests/stages/test_reset_one.py::test_refusals_name_the_way_out",
    # Takes the name of the cluster.
    "talops down": f"{HERE}/test_protected.py::test_a_protected_node",
    "talops drift": f"{CARDS}::test_drift_fix_leaves_network_cards_alone",
    "talops replace": f"{LOST}::test_replace",
    "talops retemplate": f"{LOST}::test_replace",
    "talops rollback": f"{LOST}::test_a_turn_of_a_roll",
    "talops upgrade": f"{LOST}::test_a_turn_of_a_roll",
    "talops verify": f"{LOST}::test_verify_does_not_move_the_vip",
    "talops infra apply": f"{GUARD}::test_restart_while_another_member_is_lost",
    "talops infra apply-auto": f"{GUARD}::test_named_destruction_while_another_member_is_lost",
    "talops infra destroy": f"{GUARD}::test_named_destruction_while_another_member_is_lost",
    **{
        f"talops talos {name}": f"{GUARD}::test_talos_commands_while_a_member_is_lost"
        for name in COMMANDS
    },
    "talops talos etcd leave": f"{LOST}::test_talos_etcd_leave",
}
# These cannot stop a node: they read, write files, or change what runs beside the nodes.
HARMLESS = {
    *("analyze", "check", "configure", "init", "pause", "plan", "preflight", "resume", "schema"),
    *("gitops", "host", "inventory", "lab", "runs", "secrets", "state", "support", "template"),
    *("access", "backup", "certificates", "export", "import", "status", "tools", "versions"),
    *("doctor", "web"),
    # It writes states; what would stop a VM is refused (tests/e2e/test_adopt.py).
    "adopt",
    # Configs that Talos applies without a reboot, one node at a time behind the gates of a roll.
    "rotate",
}
HARMLESS_INFRA = {
    *("fmt", "fmt-check", "force-unlock", "import", "init", "output", "plan", "refresh"),
    *("secrets-edit", "state-list", "validate"),
}


def words_of(name: str) -> list[str]:
    return name.split()[1:]


def test_every_command_is_known() -> None:
    """A new command is put on one of the lists: with a lost member, or why it needs none."""
    unknown = []
    for name, _ in leaves("talops", build(list(GROUPS))):
        words = words_of(name)
        if name in STOPPING or words[0] in HARMLESS:
            continue
        if words[0] == "infra" and words[1] in HARMLESS_INFRA:
            continue
        if words[0] == "talos" and words[1] not in STOPS_A_NODE:
            continue
        unknown.append(name)
    assert unknown == []


def test_tests_of_commands_exist() -> None:
    """A renamed test is renamed here, too."""
    for name in STOPPING.values():
        file, _, function = name.partition("::")
        assert f"def {function}(" in (SRC.parents[1] / file).read_text(encoding="utf-8"), name


# Calls of the Talos API that end a node or a member of etcd, and where talops makes them.
STOPS_A_NODE = {*COMMANDS, "leave"}
CALLS = {"reboot", "shutdown", "reset", "rollback", "legacy", "install", "leave", "remove_member"}
OWNERS = {"machine", "upgrade", "etcd"}
PLACES = {
    # Behind `require_etcd` of the same function.
    "checks/after/endpoint.py",
    "cli/talos/etcd.py",
    "cli/talos/power.py",
    "site/node_configs.py",
    # A turn of a roll, before which etcd must tolerate the absence of its node.
    "reconfigure/updates.py",
    "rolls/removal/leaving.py",
    "rolls/steps.py",
    "rolls/wiping.py",
    "stages/rolling/roll_back.py",
    "upgrades/talos_turn.py",
    # A named node, or the whole cluster.
    "stages/reset_nodes.py",
    "stages/reset_one.py",
}


def calls_of(path: Path) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in CALLS
        and isinstance(node.func.value, ast.Attribute)
        and node.func.value.attr in OWNERS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def test_every_place_that_stops_a_node_is_known() -> None:
    """A new one needs a guard, and a test of it in this file."""
    rooms = [path for path in FILES if path.relative_to(SRC).parts[0] not in {"lab", "talos"}]
    assert {str(path.relative_to(SRC)) for path in rooms if calls_of(path)} - PLACES == set()


async def test_talos_etcd_leave(talops: Any, node: FakeNode) -> None:
    """A member that leaves does not count any more: with one lost, the rest has no majority."""
    three_members(node, lost="10.0.0.2")
    left = pb.EtcdLeaveClusterResponse(messages=[pb.EtcdLeaveCluster()])
    node.on("EtcdLeaveCluster", left)
    endpoint_of = f"127.0.0.1:{node.port}"
    code, _, err = await talops("etcd", "leave", "-n", endpoint_of)
    assert code == 1
    assert "refused to stop cp-1: etcd would lose its quorum" in err
    assert "cp-2" in err
    assert "EtcdLeaveCluster" not in {method for method, _, _ in node.asked}
    code, _, err = await talops(
        "etcd", "leave", "-n", endpoint_of, "--allow-unhealthy-etcd", endpoint_of
    )
    assert code == 0, err


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_member_that_cannot_be_asked(talops: Any, node: FakeNode, command: str) -> None:
    """Its etcd runs, and does not answer: that is not the same as no etcd."""
    three_members(node, lost="")  # its own status, too
    code, _, err = await talops(*COMMANDS[command], "-n", f"127.0.0.1:{node.port}")
    assert code == 1
    assert "cannot be asked" in err
    stopping = {"Reboot", "Shutdown", "Reset", "Rollback", "Upgrade", "ImagePull"}
    assert not {method for method, _, _ in node.asked} & stopping


@pytest.mark.parametrize("more", [(), ("--force",)], ids=["plain", "force"])
async def test_force_is_not_a_name(talops: Any, node: FakeNode, more: tuple[str, ...]) -> None:
    """`--force` of an upgrade is for the node's own check; it names no control plane."""
    three_members(node, lost="10.0.0.2")
    code, _, err = await talops(*COMMANDS["upgrade"], *more, "-n", f"127.0.0.1:{node.port}")
    assert code == 1
    assert "refused to stop cp-1" in err


async def test_a_turn_of_a_roll(monkeypatch: pytest.MonkeyPatch) -> None:
    """Upgrades, rollbacks and configs that reboot: each waits, and then stops with the reason."""
    cluster = load(EXAMPLES / "ha").require()
    names = [plane.name for plane in cluster.control_planes]

    async def look(*_: object) -> Etcd:
        return Etcd(dict.fromkeys(names, 1), frozenset(names[:-1]), {names[-1]: "down"})

    monkeypatch.setattr(rolls_etcd, "look_at_etcd", look)
    site: Any = SimpleNamespace(cluster=cluster, limits=Limits(etcd=0.05, interval=0.01))
    nothing: Any = None
    first, last = cluster.control_planes[0], cluster.control_planes[-1]
    turn = rolls_etcd.wait_for_etcd
    with pytest.raises(WaitTimeoutError, match=f"without {names[-1]}") as refused:
        await turn(nothing, site, first, RollOptions(), lambda _: None)
    assert f"--allow-unhealthy-etcd {names[0]}" in str(refused.value.hint)
    await turn(nothing, site, last, RollOptions(), lambda _: None)
    named = RollOptions(allow_unhealthy_etcd=frozenset({names[0]}))
    await turn(nothing, site, first, named, lambda _: None)


def test_replace() -> None:
    """`talops replace` takes a member out of etcd, which must not need it."""
    node = load(EXAMPLES / "ha").require().control_planes[0]
    stage: Any = SimpleNamespace(_node=node)
    etcd = Etcd({"ha-cp-1": 1, "ha-cp-2": 2, "ha-cp-3": 3}, frozenset({"ha-cp-1", "ha-cp-3"}), {})
    known: Any = SimpleNamespace(uid="u", controller=True, address="10.0.0.1")
    facts = leave.Facts(known, objection=objection_to_leave(node.name, etcd))
    with pytest.raises(ConflictError, match="etcd would lose its quorum"):
        leave.Leave.plan(stage, facts)
    protected: Any = SimpleNamespace(_node=replace(node, protected=True))
    with pytest.raises(ConflictError, match="protected in the inventory"):
        leave.Leave.plan(protected, leave.Facts(known))


async def test_verify_does_not_move_the_vip(monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify --move-vip` reboots the control plane that holds the VIP."""
    cluster = load(EXAMPLES / "ha").require()
    planes = cluster.control_planes
    names = [plane.name for plane in planes]
    asked: list[str] = []

    async def look(*_: object) -> Etcd:
        return Etcd(dict.fromkeys(names, 1), frozenset(names[:-1]), {names[-1]: "down"})

    class Fleet:
        def talos(self, node: Any) -> Any:
            asked.append(node.name)
            raise AssertionError(node)

    async def fleet() -> Any:
        return Fleet()

    monkeypatch.setattr(etcd_guard, "look_at_etcd", look)
    connections: Any = SimpleNamespace(site=SimpleNamespace(cluster=cluster), fleet=fleet)
    move: Callable[..., Any] = endpoint._move
    with pytest.raises(ConflictError, match=f"refused to restart {names[0]}"):
        await move(connections, [names[0]])
    assert asked == []
