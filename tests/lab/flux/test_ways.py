"""Other ways in: private repositories, flux-operator, the flux command line; a moving branch."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from typing import TYPE_CHECKING

import pytest
from tests.delivery.ssh_server import serving

from talops.cli.app import run
from talops.errors import UnreachableError
from talops.gitops import deploykey
from talops.gitops.deploykey import GITHUB_HOSTS
from talops.kube.objects import Ref
from talops.lab.releases import manifests
from talops.redaction import Secret
from talops.secrets.vault import Vault

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lab.flux.site import Scene

pytestmark = pytest.mark.slow

GIT_SECRET = Ref("v1", "Secret", "flux-system", "flux-system")
CANARY = Ref("v1", "Secret", "talops-canary", "flux-system")
NEW = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: news
  namespace: flux-system
"""


@pytest.mark.sampled("hand-over to Flux")
async def test_a_private_repository_with_flux_operator(scene: Scene) -> None:
    """The token reaches Flux as a Secret, and the operator makes Flux from a FluxInstance."""
    private = scene.git.endpoints()["private_url"]
    scene.write_inventory(
        "repository_visibility: private\n"
        f"gitops: {{url: '{private}', ca_file: lab-ca.pem, credentials: token,"
        " install: operator}\n"
    )
    scene.credentials = {
        "git_token": Secret(scene.git.endpoints()["token"]),
        "git_username": Secret("lab"),
    }
    await scene.init_repository()
    await scene.push(private)
    result = await scene.run_gitops()
    assert result.error is None, result.error
    held = await scene.get(GIT_SECRET)
    assert held
    assert base64.b64decode(held["data"]["password"]).decode() == scene.git.endpoints()["token"]
    assert await scene.get(Ref("fluxcd.controlplane.io/v1", "FluxInstance", "flux", "flux-system"))
    assert await scene.get(CANARY)
    again = await scene.run_gitops()
    assert [stage.changes for stage in again.stages] == [()]


@pytest.mark.sampled("hand-over to Flux")
async def test_flux_follows_a_branch_that_moved(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With Flux from its command line; the next run asks it to look at the new commit now."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "flux"
    (tmp_path / "flux.yaml").write_text(manifests.as_manifest(manifests.flux()))
    program.write_text(
        f'#!/bin/sh\n[ "$*" = "install --export" ] && exec cat {tmp_path}/flux.yaml\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    url = scene.git.endpoints()["url"]
    scene.write_inventory(f"gitops: {{url: '{url}', ca_file: lab-ca.pem, install: cli}}\n")
    await scene.init_repository()
    await scene.push()
    result = await scene.run_gitops()
    assert result.error is None, result.error

    start = scene.root / "kubernetes" / "flux" / "cluster"
    (start / "news.yaml").write_text(NEW)
    listed = (start / "kustomization.yaml").read_text()
    (start / "kustomization.yaml").write_text(f"{listed}  - news.yaml\n")
    commit = await scene.push()
    moved = await scene.run_gitops()
    assert moved.error is None, moved.error
    assert moved.stages[0].changes == (f"reconcile {commit[:12]} (request a fetch by Flux)",)
    assert await scene.get(Ref("v1", "ConfigMap", "news", "flux-system"))

    (start / "news.yaml").unlink()
    (start / "kustomization.yaml").write_text(listed)
    await scene.push()
    assert (await scene.run_gitops()).error is None
    assert await scene.get(Ref("v1", "ConfigMap", "news", "flux-system")) is None


async def test_pin_prints_what_an_inventory_needs(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """The checksum of the file as the mirror gives it, ready for cluster.yaml."""
    words = ["gitops", "pin", "flux", "cilium", "-o", "json", "-C", str(scene.root)]
    assert await asyncio.to_thread(run, words) == 0
    found = json.loads(capsys.readouterr().out)["releases"]
    mirror = scene.releases.endpoints()
    assert found == {name: mirror[name] for name in ("flux", "cilium")}


@pytest.mark.sampled("hand-over to Flux")
async def test_a_deploy_key_is_made_and_then_allowed(scene: Scene) -> None:
    """The first run makes it and stops; once allowed, talops and Flux both read by it, over ssh."""
    hosts = "127.0.0.1 " + GITHUB_HOSTS.split(" ", 1)[1]
    (scene.root / "hosts").write_text(hosts)
    scene.write_inventory(
        "gitops: {url: 'ssh://git@127.0.0.1:9/lab/home.git', known_hosts: hosts}\n"
    )
    first = await scene.run_gitops()
    assert first.stages[0].changes == (
        "generate git_deploy_key (deploy key to add to the Git server)",
    )
    assert first.error
    assert str(first.error.hint).startswith("talops gitops deploy-key")
    kept = await Vault.of(scene.sops).read()
    assert kept["git_deploy_key"] in scene.learnt
    sealed = (scene.root / "infrastructure" / "secrets.sops.yaml").read_text()
    assert "PRIVATE KEY" not in sealed
    scene.credentials = kept
    second = await scene.run_gitops()
    assert isinstance(second.error, UnreachableError)
    if shutil.which("ssh"):
        await follow_over_ssh(scene, kept["git_deploy_key"])


async def follow_over_ssh(scene: Scene, key: Secret) -> None:
    """The same repository behind an SSH server that knows this key."""
    public = deploykey.public_part(key, "talops")
    async with serving(scene.git._root, public) as server:
        (scene.root / "hosts").write_text(server.known_hosts)
        scene.write_inventory(f"gitops: {{url: '{server.url}', known_hosts: hosts}}\n")
        await scene.init_repository()
        await scene.push(scene.git.endpoints()["url"])
        result = await scene.run_gitops()
        assert result.error is None, result.error
        held = await scene.get(GIT_SECRET)
        assert held
        assert base64.b64decode(held["data"]["identity"]).decode() == key.reveal()
        assert await scene.get(CANARY)
        again = await scene.run_gitops()
        assert [stage.changes for stage in again.stages] == [()]
        await scene.flux.stop()
