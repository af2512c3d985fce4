"""What is wrong is said before the hand-over, and nothing has changed by then."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import pytest

from talops.errors import DeniedError, TalopsError, UnreachableError
from talops.kube.objects import Ref
from talops.pipeline.result import RunStatus
from talops.redaction import Secret
from talops.secrets.age import AgeKey, KeyRing
from talops.secrets.cluster_key import CURRENT
from talops.secrets.rules import rules_text
from talops.secrets.sops import Sops

if TYPE_CHECKING:
    from tests.lab.flux.site import Scene

pytestmark = pytest.mark.slow

FLUX = Ref("v1", "Namespace", "flux-system")


async def refused(scene: Scene) -> TalopsError:
    """The stage's error; the cluster must not have been touched."""
    result = await scene.run_gitops()
    assert result.status is RunStatus.FAILED
    assert result.error
    assert result.error.hint
    assert await scene.get(FLUX) is None
    return result.error


@pytest.mark.sampled("hand-over to Flux")
async def test_refusals_leave_the_cluster_alone(scene: Scene) -> None:
    """Git, branch, folder, checksum, key and size: each with its place and the next step."""
    url = scene.git.endpoints()["url"]
    error = await refused(scene)
    assert "no branch main: it has no branches" in error.what
    assert error.where == url

    await scene.push()
    error = await refused(scene)
    assert "no folder kubernetes/flux/cluster" in error.what

    await scene.init_repository()
    await scene.push()
    await _other_branch(scene)
    await _unreachable(scene)
    await _private(scene)
    await _wrong_checksum(scene)
    await _missing_manifest(scene)
    await _foreign_file(scene)
    await _too_large(scene)
    await _not_for_the_cluster(scene)
    await scene.share_one_key()
    await _wrong_key(scene)
    await _no_key(scene)


async def _other_branch(scene: Scene) -> None:
    """Those that are there are named."""
    scene.write_inventory("repository_branch: production\n")
    error = await refused(scene)
    assert "no branch production: existing branches: main" in error.what
    assert error.hint
    assert "HEAD:production" in error.hint
    scene.write_inventory()


async def _unreachable(scene: Scene) -> None:
    scene.write_inventory(url="https://127.0.0.1:9/lab/home.git")
    error = await refused(scene)
    assert isinstance(error, UnreachableError)
    assert error.where == "https://127.0.0.1:9/lab/home.git"
    scene.write_inventory()


async def _private(scene: Scene) -> None:
    private = scene.git.endpoints()["private_url"]
    scene.write_inventory(url=private)
    assert isinstance(await refused(scene), DeniedError)
    scene.write_inventory("repository_visibility: private\n", url=private)
    error = await refused(scene)
    assert "no token" in error.what
    assert error.hint == "talops secrets set git_token"
    scene.credentials = {"git_token": Secret("not-the-token"), "git_username": Secret("lab")}
    error = await refused(scene)
    assert isinstance(error, DeniedError)
    assert "not-the-token" not in str(error)
    scene.credentials = {}
    scene.write_inventory()


def _flux(scene: Scene, **changes: Any) -> dict[str, Any]:
    return {"flux": {**scene.releases.endpoints()["flux"], "ca_file": "lab-ca.pem", **changes}}


async def _wrong_checksum(scene: Scene) -> None:
    scene.write_inventory(releases=_flux(scene, sha256="0" * 64))
    error = await refused(scene)
    assert "not the pinned file" in error.what
    assert error.where == scene.releases.endpoints()["flux"]["url"]
    kept = scene.root / ".talops" / "releases"
    assert not (kept / ("0" * 64)).exists()
    scene.write_inventory()


async def _missing_manifest(scene: Scene) -> None:
    wrong = scene.releases.endpoints()["flux"]["url"] + ".gone"
    scene.write_inventory(releases=_flux(scene, url=wrong, sha256="1" * 64))
    error = await refused(scene)
    assert "does not exist: HTTP 404" in error.what
    assert error.where == wrong
    scene.write_inventory()


async def _foreign_file(scene: Scene) -> None:
    """One file of the branch is for another recipient: both are named."""
    stranger = AgeKey.generate()
    rules = (scene.root / ".sops.yaml").read_text()
    own = AgeKey.parse(scene.own[CURRENT].reveal()).recipient
    (scene.root / ".sops.yaml").write_text(rules_text([stranger.recipient]))
    file = scene.root / "kubernetes" / "apps" / "hello" / "foreign.sops.yaml"
    file.write_text(await scene.sops.encrypt("stringData: {a: b}\n", file))
    (scene.root / ".sops.yaml").write_text(rules)
    error = await refused(scene)
    assert isinstance(error, DeniedError)
    assert error.where == "kubernetes/apps/hello/foreign.sops.yaml"
    assert stranger.recipient in error.what
    assert own in error.what
    await scene.push()
    file.unlink()
    error = await refused(scene)
    assert str(error.where).endswith("@main:kubernetes/apps/hello/foreign.sops.yaml")
    await scene.push()


async def _not_for_the_cluster(scene: Scene) -> None:
    """The operator's key opens it, but that never goes into a new cluster for it."""
    rules = (scene.root / ".sops.yaml").read_text()
    assert scene.sops.keys
    (scene.root / ".sops.yaml").write_text(rules_text([scene.sops.keys.keys[0].recipient]))
    file = scene.root / "kubernetes" / "apps" / "hello" / "late.sops.yaml"
    file.write_text(await scene.sops.encrypt("stringData: {a: b}\n", file))
    (scene.root / ".sops.yaml").write_text(rules)
    error = await refused(scene)
    assert error.what == "the key of the cluster does not open this file"
    assert error.where == "kubernetes/apps/hello/late.sops.yaml"
    assert error.hint
    assert error.hint.startswith("talops secrets split")
    file.unlink()


async def _too_large(scene: Scene) -> None:
    file = scene.root / "kubernetes" / "apps" / "hello" / "large.sops.yaml"
    text = f"apiVersion: v1\nkind: Secret\nstringData: {{a: {secrets.token_hex(600_000)}}}\n"
    file.write_text(await scene.sops.encrypt(text, file))
    error = await refused(scene)
    assert "the limit is 1048576" in error.what
    assert error.where == "kubernetes/apps/hello/large.sops.yaml"
    file.unlink()


async def _wrong_key(scene: Scene) -> None:
    right = scene.sops
    wrong = AgeKey.generate()
    scene.sops = Sops(right.program, right.root, KeyRing((wrong,)))
    error = await refused(scene)
    assert isinstance(error, DeniedError)
    assert wrong.recipient in error.what
    assert error.where
    scene.sops = right


async def _no_key(scene: Scene) -> None:
    right = scene.sops
    scene.sops = Sops(right.program, right.root, None)
    error = await refused(scene)
    assert error.what == "there is no age key for Flux"
    scene.sops = right
