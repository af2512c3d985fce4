"""A machine config holds the root keys of the cluster: only the node itself gets it (row 2)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.talos.harness import claim_network
from tests.security.cluster.impostor import CERTIFICATES, MAC, UUID, Answering, Switch, standing_at

from talops.events import MachineEnrolled
from talops.inventory.load import load
from talops.pipeline.runner import Options, run_stages
from talops.pipeline.stage import Reporter
from talops.site.enrolment.admission import Admission
from talops.site.enrolment.proof import UnprovenMachineError
from talops.site.enrolment.record import EnrolmentRecord
from talops.site.enrolment.vms import choose
from talops.site.secrets_file import SecretsFile, new_secrets
from talops.site.site import Limits, Site
from talops.stages.apply_config import ApplyConfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from talops.errors import TalopsError
    from talops.events import Event
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.pipeline.result import RunResult

OTHER_UUID, OTHER_MAC = "11111111-2222-4333-8444-555555555555", "BC:24:11:99:99:99"
QUICK = Limits(boot=0.3, install=0.3, interval=0.05)
# As `GET /nodes/pve/qemu/101/config` of Proxmox VE 9.2 shows a VM, without what does not matter.
VM = {
    "vmid": 101,
    "node": "pve",
    "name": "cp-1",
    "tags": "demo;controlplane",
    "net0": f"virtio={MAC},bridge=vmbr0",
    "smbios1": f"uuid={UUID.upper()},base64=1",
}
RECORD = Path(".talops/nodes.json")


@dataclass
class Scene:
    """A directory with one node that has no config yet."""

    root: Path
    address: str
    bundle: Bundle
    said: Mapping[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def write(self, *, vm: bool = False, node: str = "") -> None:
        network = self.address.rpartition(".")[0]
        cluster = (
            "cluster_name: demo\ntalos_version: v1.13.9\nkubernetes_version: v1.36.1\n"
            f"node_cidr: {network}.0/24\nnode_default_gateway: {network}.253\n"
        )
        proxmox = "proxmox_api_url: https://pve.example:8006\nproxmox_node: pve\n"
        (self.root / "cluster.yaml").write_text(cluster + (proxmox if vm else ""))
        (self.root / "nodes.yaml").write_text(
            f"nodes:\n  - {{name: cp-1, address: {self.address}, controller: true, disk: /dev/sda,"
            f" mac_addr: '{MAC}'{', vm_id: 101' if vm else ''}{node}}}\n"
        )

    def stage(self, **said: Any) -> ApplyConfig:
        nothing: Any = None
        site = Site(
            cluster=load(self.root).require(),
            root=self.root,
            sops=nothing,
            engine=Path(),
            environment={},
            credentials={},
            kubeconfig=self.root / "kubeconfig",
            limits=QUICK,
        )
        secrets = SecretsFile(site, lambda *_: None)
        return ApplyConfig(site, secrets, Reporter("apply-config", self.events.append), **said)

    async def apply(self, **said: Any) -> RunResult:
        """As `up --only apply-config --yes` runs it."""
        stages = [self.stage(**said)]
        return await run_stages(stages, emit=self.events.append, options=Options())

    async def observed(self) -> tuple[ApplyConfig, Any]:
        stage = self.stage()
        return stage, await stage.observe()

    def record(self, **entry: Any) -> None:
        file = self.root / RECORD
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"version": 1, "nodes": {"cp-1": entry}}))

    def recorded(self) -> Any:
        file = self.root / RECORD
        return json.loads(file.read_text())["nodes"].get("cp-1") if file.exists() else None


@pytest.fixture
async def scene(tmp_path: Path, bundle: Bundle) -> AsyncIterator[Scene]:
    network, claim = claim_network()
    root = tmp_path / "site"
    root.mkdir()
    found = Scene(root, f"{network}.1", bundle)
    secrets = new_secrets(root, sealed=False).path
    secrets.parent.mkdir()
    secrets.write_text(bundle.to_yaml())
    yield found
    claim.close()


@pytest.fixture
def proxmox(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Proxmox shows these VMs; the list counts how often it was asked."""

    def shows(*vms: Mapping[str, Any]) -> list[int]:
        asked: list[int] = []

        async def known(site: Site, nodes: Any) -> Any:
            asked.append(len(nodes))
            return {n.name: choose(n, site.cluster.name, vms) for n in nodes if n.vm}

        monkeypatch.setattr("talops.site.enrolment.enrolling.known_vms", known)
        return asked

    return shows


def refused(result: RunResult, *words: str) -> TalopsError:
    """It names the node, its address, what is wrong and what to do."""
    assert result.error is not None
    assert "no machine config was sent" in result.error.what
    for word in ("cp-1", *words):
        assert word in str(result.error)
    assert result.error.hint
    return result.error


@pytest.mark.parametrize("certificate", CERTIFICATES)
async def test_a_stranger_gets_nothing(certificate: str, scene: Scene, tmp_path: Path) -> None:
    """The attack: any machine at the address of a node got five private keys and all tokens."""
    scene.write()
    stranger = Answering(pair=CERTIFICATES[certificate]())
    async with standing_at(scene.address, stranger, tmp_path / "x"):
        result = await scene.apply()
    assert stranger.received == 0
    error = refused(result, scene.address, stranger.fingerprint, UUID, MAC)
    assert f"--accept-fingerprint cp-1={stranger.fingerprint}" in str(error.hint)
    assert scene.recorded() is None


FITS = Answering()
# Machines that answer for a bare-metal node, and the text about each; none gets a config.
STRANGERS: dict[str, tuple[str, Any, str]] = {
    "another UUID": (f", uuid: {UUID}", {"uuid": OTHER_UUID}, f"has UUID {OTHER_UUID} instead of"),
    "no UUID": (f", uuid: {UUID}", {"uuid": None}, "has UUID none instead of"),
    "a shared UUID": (f", uuid: {UUID}", {"uuid": "0" * 36}, "has UUID none instead of"),
    "no text of a UUID": (f", uuid: {UUID}", {"uuid": "\x1b[2J" + UUID}, "has UUID none instead"),
    "another MAC": (f", uuid: {UUID}", {"macs": (OTHER_MAC,)}, f"lacks the MAC {MAC}"),
    "another key": (f", fingerprint: '{FITS.fingerprint}'", {}, f"instead of {FITS.fingerprint}"),
    "right key, other MAC": (
        f", fingerprint: '{FITS.fingerprint}'",
        {"pair": FITS.pair, "macs": (OTHER_MAC,)},
        f"lacks the MAC {MAC}",
    ),
    "right key, other UUID": (
        f", uuid: {UUID}, fingerprint: '{FITS.fingerprint}'",
        {"pair": FITS.pair, "uuid": OTHER_UUID},
        f"has UUID {OTHER_UUID} instead of {UUID} (nodes.yaml)",
    ),
}


@pytest.mark.parametrize("name", STRANGERS)
async def test_a_stranger_on_bare_metal(name: str, scene: Scene, tmp_path: Path) -> None:
    """Whatever nodes.yaml says of the machine must be true, and one right answer is not enough."""
    node, machine, words = STRANGERS[name]
    scene.write(node=node)
    stranger = Answering(**machine)
    async with standing_at(scene.address, stranger, tmp_path / "x"):
        refused(await scene.apply(), words)
    assert stranger.received == 0


@pytest.mark.parametrize(
    "node", [f", uuid: {UUID.upper()}", f", fingerprint: '{FITS.fingerprint}'"], ids=["uuid", "key"]
)
async def test_a_machine_that_is_known(node: str, scene: Scene, tmp_path: Path) -> None:
    """It gets its config, after the record says to whom it goes; the event has the evidence."""
    scene.write(node=node)
    machine = Answering(pair=FITS.pair)
    async with standing_at(scene.address, machine, tmp_path / "x"):
        result = await scene.apply()
    assert result.error
    assert "cp-1 to run its config" in result.error.what, "this machine never leaves that mode"
    assert machine.received > 10_000
    (enrolled,) = [event for event in scene.events if isinstance(event, MachineEnrolled)]
    assert (enrolled.node, enrolled.uuid, enrolled.macs) == ("cp-1", UUID, (MAC,))
    assert enrolled.fingerprint == machine.fingerprint
    assert "as in nodes.yaml" in enrolled.evidence[0]
    entry = scene.recorded()
    assert (entry["uuid"], entry["macs"], entry["configured"]) == (UUID, [MAC], False)


# VMs as Proxmox shows them and machines at the node's address; the text about each.
SWAPPED: dict[str, tuple[Any, Any, str]] = {
    "another UUID": ([VM], {"uuid": OTHER_UUID}, f"instead of {UUID} (VM 101 on pve)"),
    "UUID of bytes in their order": (
        [VM],
        {"uuid": "5e1f0c5f-1c3b-434a-9d0b-9d6c6b3a7e11"},
        "which is the same in the other byte order",
    ),
    "another MAC": ([VM], {"macs": (OTHER_MAC,)}, f"lacks the MAC {MAC} (it has {OTHER_MAC})"),
    "a card too few": (
        [{**VM, "net1": f"virtio={OTHER_MAC},bridge=vmbr1"}],
        {},
        f"lacks the MAC {OTHER_MAC}",
    ),
    "no VM": ([], {}, "Proxmox does not show its VM"),
    "the VM of another cluster": ([{**VM, "tags": "prod"}], {}, "VM 101 on pve lacks the tag demo"),
    "a VM without a UUID": ([{**VM, "smbios1": ""}], {}, "has no uuid in smbios1"),
}


@pytest.mark.parametrize("name", SWAPPED)
async def test_a_stranger_instead_of_a_vm(
    name: str, scene: Scene, tmp_path: Path, proxmox: Callable[..., list[int]]
) -> None:
    """What answers must be the VM as Proxmox has it."""
    vms, machine, words = SWAPPED[name]
    scene.write(vm=True)
    proxmox(*vms)
    stranger = Answering(**machine)
    async with standing_at(scene.address, stranger, tmp_path / "x"):
        refused(await scene.apply(), words)
    assert stranger.received == 0


async def test_a_vm_of_this_cluster(
    scene: Scene, tmp_path: Path, proxmox: Callable[..., list[int]]
) -> None:
    """A card of the host that was passed through does not disturb; Proxmox is asked once."""
    scene.write(vm=True)
    asked = proxmox(VM)
    machine = Answering(macs=(MAC, OTHER_MAC))
    async with standing_at(scene.address, machine, tmp_path / "x"):
        await scene.apply()
    assert machine.received > 10_000
    assert asked == [1]


async def test_replaced_after_the_plan(
    scene: Scene, tmp_path: Path, proxmox: Callable[..., list[int]]
) -> None:
    """OpenTofu replaced the VM since this run looked: Proxmox is asked again before a refusal."""
    scene.write(vm=True)
    asked = proxmox(VM)
    stage_vms = [{**VM, "smbios1": f"uuid={OTHER_UUID}"}]
    first, second = Answering(), Answering(uuid=OTHER_UUID)
    switch = Switch(f"{scene.address}2")
    async with (
        standing_at(f"{scene.address}2", first, tmp_path / "1"),
        standing_at(f"{scene.address}3", second, tmp_path / "2"),
        switch.at(scene.address),
    ):
        stage, facts = await scene.observed()
        (change,) = stage.plan(facts)
        switch.to(f"{scene.address}3")
        with pytest.raises(UnprovenMachineError, match="instead of"):
            await stage.apply(change)
        assert (first.received, second.received) == (0, 0)
        proxmox(*stage_vms)
        await stage.apply(change)
    assert (first.received, asked) == (0, [1, 1])
    assert second.received > 10_000


async def test_swapped_between_proof_and_config(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The config uses the connection of the proof or none: no other machine gets it."""
    scene.write(node=f", uuid: {UUID}")
    right, stranger = Answering(), Answering(uuid=OTHER_UUID)
    switch = Switch(f"{scene.address}2")
    begin = EnrolmentRecord.begin

    def swap(*given: Any) -> None:
        begin(*given)
        switch.to(f"{scene.address}3")

    monkeypatch.setattr(EnrolmentRecord, "begin", swap)
    async with (
        standing_at(f"{scene.address}2", right, tmp_path / "1"),
        standing_at(f"{scene.address}3", stranger, tmp_path / "2"),
        switch.at(scene.address),
    ):
        refused(await scene.apply(), OTHER_UUID)
    assert (right.received, stranger.received) == (0, 0)


@pytest.mark.parametrize(
    ("uuid", "words"),
    [(UUID, "back in maintenance mode, although it has a config"), (OTHER_UUID, "has UUID")],
    ids=["the same machine", "another VM"],
)
async def test_back_in_maintenance_mode(
    uuid: str, words: str, scene: Scene, tmp_path: Path, proxmox: Callable[..., list[int]]
) -> None:
    """A node that had a config gets none until the user says so, whatever machine answers; neither
    does a VM that was swapped in Proxmox behind the back of OpenTofu.
    """
    scene.write(vm=True)
    proxmox({**VM, "smbios1": f"uuid={uuid}"})
    scene.record(uuid=UUID, macs=[MAC], configured=True, time="2026-01-02T03:04:05+00:00")
    machine = Answering(uuid=uuid)
    async with standing_at(scene.address, machine, tmp_path / "x"):
        error = refused(await scene.apply(), words, "2026-01-02")
        # A cluster of one has lost its etcd with the config; its data may be on another machine.
        wanted = "talops recover --from-snapshot" if uuid == UUID else "talops up --reinstall cp-1"
        assert wanted in str(error.hint)
        assert machine.received == 0
        await scene.apply(admission=Admission(reinstall=frozenset({"cp-1"})))
    assert machine.received > 10_000


@pytest.mark.parametrize(
    "said",
    [Admission(reinstall=frozenset({"cp-1"})), Admission(any_again=True)],
    ids=["by name", "by recover"],
)
async def test_a_reinstallation_needs_proof_too(
    said: Admission, scene: Scene, tmp_path: Path
) -> None:
    """To allow a second config is not to allow any machine."""
    scene.write(node=f", uuid: {UUID}")
    scene.record(uuid=UUID, configured=True)
    stranger = Answering(uuid=OTHER_UUID)
    async with standing_at(scene.address, stranger, tmp_path / "x"):
        refused(await scene.apply(admission=said), "another machine answers")
    assert stranger.received == 0


@pytest.mark.parametrize("configured", [False, True])
async def test_killed_before_the_config_was_sent(
    configured: bool, scene: Scene, tmp_path: Path
) -> None:
    """The record of an intention does not stop the next run, and proves a machine without a key."""
    scene.write()
    scene.record(uuid=UUID, macs=[MAC], configured=configured)
    machine = Answering()
    async with standing_at(scene.address, machine, tmp_path / "x"):
        await scene.apply()
    assert bool(machine.received) is not configured


async def test_an_accepted_key(scene: Scene, tmp_path: Path) -> None:
    """The user compared it with the console; any other key is refused."""
    scene.write()
    machine = Answering()
    async with standing_at(scene.address, machine, tmp_path / "x"):
        wrong = Admission({"cp-1": FITS.fingerprint})
        refused(await scene.apply(admission=wrong), "instead of the accepted", FITS.fingerprint)
        assert machine.received == 0
        await scene.apply(admission=Admission({"cp-1": machine.fingerprint}))
    assert machine.received > 10_000
