"""Nodes of Talos 1.14: configs in the shape of contract 1.14, apply modes, volumes, resources."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.empty_pb2 import Empty
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from tests.lab.talos.harness import until

from talops.inventory.load import load
from talops.lab.machine import Disk, Machine
from talops.lab.talos.config.decoding import BadConfigError, decode
from talops.lab.talos.config.validation import validate
from talops.lab.talos.machine.disks import block_devices, choose
from talops.machineconfig.contract import Contract
from talops.machineconfig.from_inventory import requests
from talops.machineconfig.generate import generate
from talops.machineconfig.secrets import bundle as bundles
from talops.talos.wire import cosi_pb2
from talops.talos.wire.cosi_grpc import StateStub
from talops.talos.wire.machine_pb2 import (
    ApplyConfigurationRequest,
    ResetPartitionSpec,
    ResetRequest,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lab.talos.harness import Lab

VERSION = "v1.14.1"


def configs(folder: Path, network: str = "10.1.1") -> dict[str, bytes]:
    """What talops makes for a control plane and a worker; Talos' own library accepts its like."""
    (folder / "cluster.yaml").write_text(
        f"cluster_name: lab\ntalos_version: {VERSION}\nkubernetes_version: v1.36.1\n"
        f"node_cidr: {network}.0/24\nnode_default_gateway: {network}.253\n"
    )
    rows = [
        f"  - {{name: {name}, address: {network}.{number}, disk: /dev/sda,"
        f" mac_addr: 'BC:24:11:00:00:{number:02X}', controller: {plane}}}\n"
        for number, (name, plane) in enumerate((("cp-1", "true"), ("w-1", "false")), start=1)
    ]
    (folder / "nodes.yaml").write_text("nodes:\n" + "".join(rows))
    asked = requests(load(folder).require(), lambda _: "", Contract.V1_14)
    secrets = bundles.generate(datetime.now(UTC), Contract.V1_14)
    return {n.name: generate(asked.cluster, n, secrets).to_yaml().encode() for n in asked.nodes}


def test_documents_stand_for_fields_of_the_main_one(tmp_path: Path) -> None:
    """Everything that a node needs is found where 1.14 says it."""
    made = configs(tmp_path)
    config = decode(made["cp-1"], minor=14)
    assert not validate(config, must_install=True)
    assert config.cluster_id
    assert config.cluster_name == "lab"
    assert config.endpoint == "https://10.1.1.1:6443"
    assert config.discovery_service
    assert config.kubelet_version == "v1.36.1"
    assert config.pod_cidrs == ("10.42.0.0/16",)
    for path in (("ca",), ("aggregatorCA",), ("etcd", "ca")):
        pair = config.authority(*path)
        assert pair.crt.startswith(b"-----BEGIN CERTIFICATE"), path
        assert b"PRIVATE KEY" in pair.key, path
    assert b"PRIVATE KEY" in config.service_account_key
    assert config.cluster["secretboxEncryptionSecret"]
    assert [t["effect"] for t in config.taints] == ["NoSchedule"]
    assert VERSION in config.install["image"]
    worker = decode(made["w-1"], minor=14)
    assert not worker.control_plane
    assert not worker.authority("ca").key


def test_older_nodes_do_not_know_the_documents(tmp_path: Path) -> None:
    """A contract newer than the node is refused."""
    with pytest.raises(BadConfigError, match="not registered"):
        decode(configs(tmp_path)["cp-1"], minor=13)


@pytest.mark.parametrize(
    ("match", "chosen"),
    [
        ('disk.dev_path == "/dev/sdb"', "/dev/sdb"),
        ('"/dev/disk/by-id/second" in disk.symlinks', "/dev/sdb"),
        ('glob("sec*", disk.serial) && !disk.readonly && !disk.cdrom', "/dev/sdb"),
        ('disk.size >= 50000000000u && disk.transport != ""', "/dev/sdb"),
        ("disk.size < 50u * GB", "/dev/sda"),
        ("disk.rotational", None),
        ("system_disk", None),
    ],
)
def test_install_disk_by_expression(match: str, chosen: str | None) -> None:
    """The forms that configs of 1.14 use, and nothing for those that the lab does not know."""
    disks = (Disk("scsi0", 20 * 2**30), Disk("scsi1", 100 * 2**30, serial="second"))
    found = choose({"diskMatch": match}, block_devices(Machine("u", 1, "p", "a", 1, 1, (), disks)))
    assert (found.path if found else None) == chosen


async def configured(lab: Lab, folder: Path) -> None:
    await lab.start("cp-1", version=VERSION)
    config = configs(folder, lab.network)["cp-1"]
    lab.files.os_ca = decode(config, minor=14).os_ca
    await lab.apply("cp-1", config)
    await lab.up("cp-1")


async def test_nodes_install_from_a_document(lab: Lab, tmp_path: Path) -> None:
    """UnattendedInstallConfig says disk and image; its status and the schematic are resources."""
    await configured(lab, tmp_path)
    version = (await lab.api("cp-1").Version(Empty())).messages[0].version.tag
    assert version == VERSION
    state = StateStub(lab.channel("cp-1"))
    found = {}
    for kind, name in (
        ("UnattendedInstallStatuses.runtime.talos.dev", "unattended-install"),
        ("ImageFactorySchematics.runtime.talos.dev", "image-factory-schematic"),
        ("VolumeStatuses.block.talos.dev", "ETCD"),
    ):
        request = cosi_pb2.GetRequest(namespace="runtime", type=kind, id=name)
        found[name] = (await state.Get(request)).resource.spec.yaml_spec
    assert "phase: installed" in found["unattended-install"]
    assert lab.node("cp-1").schematic in found["image-factory-schematic"]
    assert "targetPath: /var/lib/etcd" in found["ETCD"]


async def test_apply_modes(lab: Lab, tmp_path: Path) -> None:
    """No change reboots any more: AUTO is NO_REBOOT, a trial run says so, REBOOT does not exist."""
    await configured(lab, tmp_path)
    mode, api = ApplyConfigurationRequest, lab.api("cp-1")
    config = lab.node("cp-1").config
    assert config is not None
    harder = config.raw.replace(b"debug: false", b"debug: true")
    fields: dict[str, Any] = {"data": harder, "dry_run": True}
    reply = await api.ApplyConfiguration(mode(mode=mode.AUTO, **fields))
    assert reply.messages[0].mode == mode.NO_REBOOT
    assert "Applied configuration without a reboot (skipped" in reply.messages[0].mode_details
    with pytest.raises(GRPCError) as refused:
        await api.ApplyConfiguration(mode(mode=mode.REBOOT, **fields))
    assert refused.value.status is Status.UNIMPLEMENTED


async def test_reset_knows_the_new_volumes(lab: Lab, tmp_path: Path) -> None:
    """ETCD can be wiped by its own label since 1.14."""
    await configured(lab, tmp_path)
    node = lab.node("cp-1")
    (node.store.etcd / "data").mkdir(parents=True)
    boot = node.boot_id
    spec = ResetPartitionSpec(label="ETCD", wipe=True)
    request = ResetRequest(system_partitions_to_wipe=[spec], reboot=True)
    await lab.api("cp-1").Reset(request)

    async def rebooted() -> bool:
        return node.boot_id != boot

    await until(rebooted)
    await lab.up("cp-1")
    assert not (node.store.etcd / "data").exists()


def test_a_document_lists_all_labels_and_taints(tmp_path: Path) -> None:
    """Talos adds none to those of KubeNodeConfig, so no taint is there twice."""
    plane = decode(configs(tmp_path)["cp-1"], minor=14)
    assert plane.control_plane
    assert plane.names_whole_node
    assert not decode(b"machine: {type: controlplane}\n", minor=14).names_whole_node


async def test_discovery_follows_the_config(lab: Lab, tmp_path: Path) -> None:
    """Without a DiscoveryServiceConfig a node says that discovery is off, and lists no member."""
    await configured(lab, tmp_path)
    state = StateStub(lab.channel("cp-1"))
    request = cosi_pb2.GetRequest(
        namespace="config", type="DiscoveryConfigs.cluster.talos.dev", id="cluster"
    )
    assert "discovery.talos.dev:443" in (await state.Get(request)).resource.spec.yaml_spec
    node = lab.node("cp-1")
    assert node.config is not None
    left = [d for d in node.config.documents if d.get("kind") != "DiscoveryServiceConfig"]
    node.config = replace(node.config, documents=tuple(left))
    off = (await state.Get(request)).resource.spec
    assert "registryServiceEnabled: false" in off.yaml_spec
    assert not off.proto_spec
