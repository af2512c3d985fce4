"""Other ways in: private repositories, flux-operator, the flux command line; a moving branch."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from talops.kube.objects import Ref
from talops.lab.releases import manifests
from talops.redaction import Secret

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lab_flux.site import Scene

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


async def test_flux_follows_a_branch_that_moved(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With Flux from its command line; the next run asks it to look at the new commit now."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "flux"
    (tmp_path / "flux.yaml").write_text(manifests.as_text(manifests.flux()))
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
    assert moved.stages[0].changes == (f"follow {commit[:12]} (Flux is asked to look now)",)
    assert await scene.get(Ref("v1", "ConfigMap", "news", "flux-system"))

    (start / "news.yaml").unlink()
    (start / "kustomization.yaml").write_text(listed)
    await scene.push()
    assert (await scene.run_gitops()).error is None
    assert await scene.get(Ref("v1", "ConfigMap", "news", "flux-system")) is None
