"""The whole way: `talops up` from an inventory to a cluster that follows its repository."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from tests.e2e.conftest import make_lab

from talops.kube.client import KubeClient
from talops.kube.kubeconfig import load
from talops.kube.objects import Ref
from talops.lab.sample import LabInventory

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
__all__ = ["make_lab"]


async def test_up_hands_the_cluster_to_flux(make_lab: MakeLab) -> None:
    """Addons and Flux arrive with the rest; a second `up` finds nothing to do."""
    async with make_lab(control_planes=1, workers=1) as lab:
        wanted = LabInventory("e2e", 1, 1, 0, 16).files(lab.details, gitops=True)
        text = wanted["cluster.yaml"] + "addons: {metrics_server: true}\n"
        (lab.root / "cluster.yaml").write_text(text)
        for words in (("secrets", "init"), ("gitops", "init")):
            made = await lab.talops(*words)
            assert made.code == 0, made.everything
        early = await lab.talops("up", "--yes")
        assert early.code == 1
        assert "the repository has no branch main" in early.everything
        assert lab.vms() == {}

        await asyncio.to_thread(push, lab)
        first = await lab.talops("up", "--yes")
        assert first.code == 0, first.everything
        config = load(lab.root / "kubeconfig", "e2e")
        assert config
        async with KubeClient(config) as kube:
            assert await kube.get(Ref("v1", "Secret", "talops-canary", "flux-system"))
            assert await kube.get(Ref("apps/v1", "Deployment", "metrics-server", "kube-system"))

        second = await lab.talops("up", "--yes", "-o", "json")
        assert second.code == 0, second.everything
        events = [json.loads(line) for line in second.out.splitlines()]
        assert not [e for e in events if e["kind"] == "change_started"]
        key = (lab.root / "age.key").read_text().split()[-1]
        assert key.startswith("AGE-SECRET-KEY-")
        assert key not in first.everything + second.everything
        holders = [p for p in lab.root.rglob("*") if p.is_file() and key.encode() in p.read_bytes()]
        assert holders == [lab.root / "age.key"]


def push(lab: Any) -> None:
    details = lab.details["git"]
    url = details["url"].replace("https://", f"https://lab:{details['token']}@")
    ca = f"http.sslCAInfo={lab.details['ca_file']}"
    who = {
        f"GIT_{a}_{b}": "x@example.com" for a in ("AUTHOR", "COMMITTER") for b in ("NAME", "EMAIL")
    }
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "--all"),
        ("commit", "--quiet", "--no-verify", "--message", "start"),
    ):
        _git(lab, who, *words)
    _git(lab, who, "-c", ca, "push", "--quiet", url, "HEAD:main")


def _git(lab: Any, more: dict[str, str], *words: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(lab.root), **more}
    subprocess.run(["git", "-C", str(lab.root), *words], env=env, check=True, timeout=60)
