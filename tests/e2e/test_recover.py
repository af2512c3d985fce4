"""One cluster through its misfortunes: a node, the state and the whole Proxmox are lost in turn."""

from __future__ import annotations

import contextlib
import getpass
import json
import shutil
import socket
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.e2e.conftest import Lab, kill_group
from tests.e2e.states import remote_states

from talops.kube.client import KubeClient
from talops.kube.kubeconfig import load
from talops.kube.objects import Ref

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
KEPT = Ref("v1", "ConfigMap", "kept", "default")
VMS = {"e2e-cp-1", "e2e-w-1"}


async def test_lost_and_found(make_lab: MakeLab, tmp_path: Path) -> None:
    """`reset`, a lost state, a Proxmox rebuilt from nothing: the same cluster every time."""
    async with make_lab(control_planes=1, workers=1, sealed=True) as lab:
        with remote_states(lab, tmp_path) as (_, states):
            await _one_run_at_a_time(lab, tmp_path / "elsewhere")
            await _one_node(lab)
            await _remember(lab)
            await _lost_state(lab, states)
            await _rebuilt_proxmox(lab)
            await _dead_nodes(lab)


async def _one_run_at_a_time(lab: Any, elsewhere: Path) -> None:
    """A second machine learns who runs; after a kill -9 only the first one continues."""
    shutil.copytree(lab.root, elsewhere)
    second = Lab(lab.world, elsewhere, lab.environment)
    process = await lab.start("up", "--yes", "-o", "json")
    try:
        assert process.stdout
        assert process.stderr
        first = await process.stdout.readline() or await process.stderr.read()
        assert b"run_started" in first, first
        refused = await second.talops("up", "--yes")
    finally:
        kill_group(process)
        await process.wait()
    assert refused.code == 1, refused.everything
    assert f"talops up by {getpass.getuser()}@{socket.gethostname()}" in refused.everything
    assert f"pid {process.pid}" in refused.everything
    dead = await second.talops("up", "--yes")
    assert dead.code == 1, dead.everything
    assert "talops state unlock e2e.run --id" in dead.everything
    await _fine(lab, "up", "--yes")


async def _fine(lab: Any, *words: str) -> Any:
    done = await lab.talops(*words)
    assert done.code == 0, done.everything
    return done


async def _one_node(lab: Any) -> None:
    """The last etcd member is kept; a worker goes and only its VM with it."""
    refused = await lab.talops("reset", "--yes", "--node", "e2e-cp-1")
    assert refused.code == 1, refused.everything
    assert "only etcd member" in refused.everything
    unasked = await lab.talops("reset", "--node", "e2e-w-1")
    assert "talops reset --yes --node e2e-w-1" in unasked.everything
    assert set(lab.vms()) == VMS
    await _fine(lab, "reset", "--yes", "--node", "e2e-w-1")
    assert set(lab.vms()) == {"e2e-cp-1"}
    async with _kube(lab) as kube:
        assert [n["metadata"]["name"] for n in await kube.list_all("v1", "Node")] == ["e2e-cp-1"]


async def _remember(lab: Any) -> None:
    """Something that only this etcd knows, and a snapshot with it."""
    async with _kube(lab) as kube:
        await kube.apply(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": KEPT.name, "namespace": KEPT.namespace},
                "data": {"kept": "yes"},
            }
        )
    await _fine(lab, "talos", "gen-config")
    await _fine(lab, "talos", "etcd", "snapshot", "snap.db")


async def _lost_state(lab: Any, states: str) -> None:
    """The VM that exists is imported and not changed; the reset one is created again."""
    trust = ssl.create_default_context(cafile=lab.details["ca_file"])
    async with httpx.AsyncClient(verify=trust) as client:
        gone = await client.delete(f"{states}/02-platforms-e2e")
    assert gone.status_code == httpx.codes.OK, gone.text
    done = await _fine(lab, "recover", "--yes", "-o", "json")
    changes = [e for e in map(json.loads, done.out.splitlines()) if e["kind"] == "change_started"]
    assert [c["target"] for c in changes if c["action"] == "import"][-1] == "VM e2e-cp-1"
    assert not [c for c in changes if c["node"] == "e2e-cp-1"], "it was only noted down again"
    assert set(lab.vms()) == VMS


async def _rebuilt_proxmox(lab: Any) -> None:
    """Nothing is left but files, secrets and a snapshot; kubeconfigs of before stay valid."""
    secrets = (lab.root / "talos/talsecret.sops.yaml").read_bytes()
    await lab.world.reset()
    assert lab.vms() == {}
    await _fine(lab, "recover", "--yes", "--from-snapshot", "snap.db")
    assert set(lab.vms()) == VMS
    assert (lab.root / "talos/talsecret.sops.yaml").read_bytes() == secrets
    async with _kube(lab) as kube:
        kept = await kube.get(KEPT)
    assert kept is not None
    assert kept["data"] == {"kept": "yes"}


async def _dead_nodes(lab: Any) -> None:
    """No node answers: --force destroys the VMs anyway, and lists the entry of the state."""
    for vm_id in (111, 121):
        await lab.proxmox("POST", f"nodes/pve/qemu/{vm_id}/status/stop")
    gone = await _fine(lab, "down", "--yes", "--cluster", "e2e", "--force", "--keep-state")
    assert lab.vms() == {}
    assert "leftover: state 02-platforms-e2e at" in gone.everything


def _kube(lab: Any) -> KubeClient:
    """By the kubeconfig of the first run: the cluster's CA never changes."""
    config = load(lab.root / "kubeconfig", "e2e")
    assert config
    return KubeClient(config)
