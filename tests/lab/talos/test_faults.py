"""Faults before Kubernetes: each shows what a real machine would show, and ends with its cause."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.empty_pb2 import Empty
from grpclib.exceptions import GRPCError
from tests.lab.talos.harness import until

from talops.errors import TalopsError
from talops.lab.faults import Faults as Rules
from talops.lab.faults import parse
from talops.lab.talos.machine.faults import FaultBook, Faults
from talops.lab.talos.machine.stages import Stage
from talops.talos.wire.machine_pb2 import ApplyConfigurationRequest, BootstrapRequest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lab.talos.harness import Lab


async def said(lab: Lab, name: str, text: str) -> bool:
    return any(text in line for line in lab.node(name).journal.kernel.items())


@pytest.mark.parametrize("phase", ["boot", "network", "maintenance", "config", "services"])
async def test_crash_at_a_phase_happens_once(lab: Lab, phase: str) -> None:
    """The node panics there, boots again, and then comes up."""
    lab.host.faults.set("cp-1", Faults(crash_at=phase))
    await lab.start("cp-1")
    await lab.configure("cp-1")

    async def consumed() -> bool:
        return not lab.host.faults.of("cp-1").crash_at

    await until(consumed)

    async def up() -> bool:
        if lab.node("cp-1").status.stage is Stage.MAINTENANCE:
            config = lab.files.config("controlplane", "cp-1")
            request = ApplyConfigurationRequest(data=config)
            await lab.maintenance("cp-1").ApplyConfiguration(request)
        return bool(await lab.api("cp-1").Version(Empty()))

    await until(up)


async def test_wrong_disk_returns_to_maintenance(lab: Lab) -> None:
    """The installation names the disks that there are; the config is not kept."""
    lab.host.faults.set("cp-1", Faults(wrong_disk=True))
    await lab.start("cp-1")
    await lab.stage("cp-1", Stage.MAINTENANCE)
    node = lab.node("cp-1")
    boot = node.boot_id
    journal = node.journal
    await lab.configure("cp-1")

    async def again() -> bool:
        return node.boot_id != boot and node.status.stage is Stage.MAINTENANCE

    await until(again)
    lines = "".join(journal.kernel.items())
    assert "no disk matches /dev/sda; this machine has /dev/vda, /dev/sr0" in lines
    lab.host.faults.clear("cp-1")
    await lab.configure("cp-1")
    await lab.up("cp-1")


async def test_full_disk_refuses_the_config(lab: Lab) -> None:
    """Nothing can be written, so nothing is accepted."""
    lab.host.faults.set("w-1", Faults(disk_full=True))
    await lab.start("w-1")
    await lab.listening("w-1")
    request = ApplyConfigurationRequest(data=lab.files.config("worker", "w-1"))
    with pytest.raises(GRPCError, match="no space left on device"):
        await lab.maintenance("w-1").ApplyConfiguration(request)


async def test_clock_ahead_shows_in_the_certificate(lab: Lab) -> None:
    """An hour ahead, the certificate is not valid yet; five seconds only stop a bootstrap."""
    lab.host.faults.set("cp-1", Faults(clock_skew=3600))
    lab.host.faults.set("cp-2", Faults(clock_skew=5))
    await lab.start("cp-1", "cp-2")
    for name in lab.machines:
        await lab.configure(name)
    await lab.up("cp-2")
    lab.node("cp-2").bootstrap_allowed = True
    with pytest.raises(GRPCError, match="time is not in sync yet"):
        await lab.api("cp-2").Bootstrap(BootstrapRequest())
    await lab.listening("cp-1")
    with pytest.raises(OSError, match="not yet valid"):
        await lab.api("cp-1").Version(Empty())


async def test_nodes_come_back_in_whatever_order(lab: Lab) -> None:
    """A worker with a corrected clock needs the signature of a control plane without network."""
    await lab.start("cp-1", "w-1")
    for name in ("cp-1", "w-1"):
        await lab.configure(name)
        await lab.up(name)
    lab.host.faults.set("w-1", Faults(clock_skew=3600, network_lost=True))
    lab.host.faults.set("cp-1", Faults(network_lost=True))

    async def cut_off() -> bool:
        return all(lab.node(name).apid.cut_off for name in ("cp-1", "w-1"))

    await until(cut_off)
    lab.host.faults.clear("w-1")
    await lab.host._follow_network_faults()  # the lab looks after the worker first
    assert await cut_off()
    lab.host.faults.clear("cp-1")
    for name in ("cp-1", "w-1"):
        await lab.up(name)


async def test_lost_network_neither_answers_nor_refuses(lab: Lab) -> None:
    """Connections hang until the network is back."""
    await lab.start("cp-1")
    await lab.configure("cp-1")
    await lab.up("cp-1")
    lab.host.faults.set("cp-1", Faults(network_lost=True))

    async def hangs() -> bool:
        try:
            await asyncio.wait_for(lab.api("cp-1").Version(Empty()), 0.3)
        except TimeoutError:
            return lab.node("cp-1").apid.cut_off
        return False

    await until(hangs)
    lab.host.faults.clear("cp-1")
    await lab.up("cp-1")


async def test_slow_boot_only_delays(lab: Lab) -> None:
    """The extra time comes before anything answers."""
    lab.host.faults.set("w-1", Faults(slow_boot=0.3))
    await lab.start("w-1")
    with pytest.raises(OSError, match="Connect call failed"):
        await asyncio.open_connection(lab.address("w-1"), 50000)
    await lab.stage("w-1", Stage.MAINTENANCE)


def test_a_wrong_faults_file_says_what_is_known(lab: Lab) -> None:
    """A typing error in the file names the faults that exist."""
    path = lab.settings.directory / "faults" / "w-1.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"no_such_fault": true}')
    with pytest.raises(TalopsError, match="known faults: slow_boot, crash_at"):
        lab.host.faults.of("w-1")


BY_RULE: list[tuple[dict[str, Any], Faults]] = [
    ({"kind": "talos-slow-boot", "seconds": 3.0}, Faults(slow_boot=3.0)),
    ({"kind": "talos-never-ready"}, Faults(never_ready=True)),
    ({"kind": "talos-wrong-disk"}, Faults(wrong_disk=True)),
    ({"kind": "talos-clock-skew", "seconds": 5.0}, Faults(clock_skew=5.0)),
    ({"kind": "talos-network-lost"}, Faults(network_lost=True)),
    ({"kind": "talos-refuse-bootstrap"}, Faults(refuse_bootstrap=True)),
    ({"kind": "talos-disk-full"}, Faults(disk_full=True)),
]


@pytest.mark.parametrize(("rule", "wanted"), BY_RULE, ids=[rule["kind"] for rule, _ in BY_RULE])
def test_rules_and_their_file_reach_one_machine(
    tmp_path: Path, rule: dict[str, Any], wanted: Faults
) -> None:
    """What `talops lab fault` adds, or faults.json holds, counts for the machine it names."""
    book = FaultBook(tmp_path / "faults", rules := Rules(tmp_path / "faults.json"))
    assert book.of("cp-1", "uuid-1") == Faults()
    added = rules.add(parse({**rule, "machine": "cp-1"}))
    fresh = FaultBook(tmp_path / "faults", rules)
    assert fresh.of("cp-1", "uuid-1") == wanted
    assert fresh.of("cp-2", "uuid-2") == Faults()
    rules.remove(added.id)
    (tmp_path / "faults.json").write_text(json.dumps([{**rule, "machine": "uuid-2"}]))
    fresh = FaultBook(tmp_path / "faults", rules)
    assert fresh.of("cp-2", "uuid-2") == wanted
    assert fresh.of("cp-1", "uuid-1") == Faults()


def test_a_crash_by_rule_happens_as_often_as_it_says(tmp_path: Path) -> None:
    """Once unless told otherwise, in its phase only; a phase that does not exist is refused."""
    book = FaultBook(tmp_path, rules := Rules(tmp_path / "faults.json"))
    rules.add(parse({"kind": "talos-crash", "phase": "install", "machine": "cp-1"}))
    asked = [("boot", "cp-1"), ("install", "cp-2"), ("install", "cp-1"), ("install", "cp-1")]
    assert [book.crashes(phase, name) for phase, name in asked] == [False, False, True, False]
    with pytest.raises(TalopsError, match="not a phase") as refused:
        parse({"kind": "talos-crash", "phase": "lunch"})
    assert "install" in str(refused.value.hint)


LATE_PHASES = ["install", "config", "services", "etcd", "kubernetes", "kubelet"]


async def crash_and_recover(lab: Lab, phase: str) -> None:
    """Drive a control plane to Ready as a careful client does: observe again after each loss."""
    lab.host.faults.set("cp-1", Faults(crash_at=phase))
    await lab.start("cp-1")
    await lab.configure("cp-1")

    async def ready() -> bool:
        node = lab.node("cp-1")
        if node.status.stage is Stage.MAINTENANCE:
            request = ApplyConfigurationRequest(data=lab.files.config("controlplane", "cp-1"))
            await lab.maintenance("cp-1").ApplyConfiguration(request)
        elif node.bootstrap_allowed and not node.control_plane.has_data:
            await lab.api("cp-1").Bootstrap(BootstrapRequest())
        crashed = not lab.host.faults.of("cp-1").crash_at
        return crashed and node.status.stage is Stage.RUNNING and node.status.ready

    await until(ready)
    etcd = lab.node("cp-1").control_plane.etcd
    assert etcd is not None
    assert [member.name for member in await etcd.client.members()] == ["cp-1"]


@pytest.mark.chaos
@pytest.mark.parametrize("phase", LATE_PHASES)
async def test_control_plane_survives_every_crash(real_lab: Lab, phase: str) -> None:
    """Wherever it crashes during its start, it ends with one etcd and Ready."""
    await crash_and_recover(real_lab, phase)
