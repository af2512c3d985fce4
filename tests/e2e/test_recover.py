"""One cluster through its misfortunes: a node, the state and the whole Proxmox are lost in turn."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from talops.kube.client import KubeClient
from talops.kube.kubeconfig import load
from talops.kube.objects import Ref

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
KEPT = Ref("v1", "ConfigMap", "kept", "default")
VMS = {"e2e-cp-1", "e2e-w-1"}


async def test_lost_and_found(make_lab: MakeLab) -> None:
    """`reset`, a lost state file, a Proxmox rebuilt from nothing: the same cluster every time."""
    async with make_lab(control_planes=1, workers=1) as lab:
        assert (await lab.talops("secrets", "init")).code == 0
        await _fine(lab, "up", "--yes")
        await _one_node(lab)
        await _remember(lab)
        await _lost_state(lab)
        await _rebuilt_proxmox(lab)


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


async def _lost_state(lab: Any) -> None:
    """Both VMs' places are found again: one is imported, the reset one is made anew."""
    state = lab.root / "infrastructure/02-platforms/e2e/terraform.tfstate"
    state.unlink()
    vm = lab.vms()["e2e-cp-1"]
    card = vm.config["net0"]
    vm.config["net0"] = re.sub(r"(..:){5}..", "BC:24:11:00:00:99", card)
    refused = await lab.talops("recover", "--dry-run")
    assert refused.code == 1, refused.everything
    assert "has MAC BC:24:11:00:00:99 instead of" in refused.everything
    vm.config["net0"] = card
    done = await _fine(lab, "recover", "--yes", "-o", "json")
    changes = [e for e in map(json.loads, done.out.splitlines()) if e["kind"] == "change_started"]
    assert [c["target"] for c in changes if c["action"] == "import"][-1] == "VM e2e-cp-1"
    assert not [c for c in changes if c["node"] == "e2e-cp-1"], "it was only noted down again"
    assert set(lab.vms()) == VMS


async def _rebuilt_proxmox(lab: Any) -> None:
    """Nothing is left but files and secrets; etcd comes back by a plain word alone."""
    secrets = (lab.root / "talos/talsecret.sops.yaml").read_bytes()
    await lab.world.reset()
    assert lab.vms() == {}
    stopped = await lab.talops("up", "--yes")
    assert stopped.code == 1, stopped.everything
    assert "talops recover --from-snapshot" in stopped.everything
    await _fine(lab, "recover", "--yes", "--from-snapshot", "snap.db")
    assert set(lab.vms()) == VMS
    assert (lab.root / "talos/talsecret.sops.yaml").read_bytes() == secrets
    async with _kube(lab) as kube:
        kept = await kube.get(KEPT)
    assert kept is not None
    assert kept["data"] == {"kept": "yes"}


def _kube(lab: Any) -> KubeClient:
    """By the kubeconfig of the first run: the cluster's CA never changes."""
    config = load(lab.root / "kubeconfig", "e2e")
    assert config
    return KubeClient(config)
