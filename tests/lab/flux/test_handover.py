"""The stage `gitops` against a real API server, a real Git server and the played Flux."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from talops.kube.objects import Ref
from talops.kube.waits import wait_ready
from talops.secrets.cluster_key import CURRENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.lab.flux.site import Scene

pytestmark = pytest.mark.slow

KEY = Ref("v1", "Secret", "sops-age", "flux-system")
CANARY = Ref("v1", "Secret", "talops-canary", "flux-system")
SYNC = Ref("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "flux-system", "flux-system")
APPS = Ref("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "cluster-apps", "flux-system")
KINDS = (
    ("v1", "Secret"),
    ("v1", "Namespace"),
    ("v1", "ServiceAccount"),
    ("apps/v1", "Deployment"),
    ("source.toolkit.fluxcd.io/v1", "GitRepository"),
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"),
)


async def versions(scene: Scene, kinds: Sequence[tuple[str, str]] = KINDS) -> dict[str, str]:
    """Every object's resourceVersion."""
    async with scene.kube() as kube:
        return {
            f"{kind} {o['metadata'].get('namespace')}/{o['metadata']['name']}": o["metadata"][
                "resourceVersion"
            ]
            for api, kind in kinds
            for o in await kube.list_all(api, kind)
        }


async def test_a_cluster_follows_its_repository(scene: Scene) -> None:
    """The cluster's own key, Flux and sync arrive, secrets are decrypted inside, and a second run
    changes nothing.
    """
    await scene.init_repository()
    await scene.push()
    result = await scene.run_gitops()
    assert result.error is None, result.error
    assert result.exit_code == 0

    created = await scene.get(KEY)
    assert created
    identity = scene.own[CURRENT].reveal()
    assert base64.b64decode(created["data"]["age.agekey"]).decode().strip() == identity
    canary = await scene.get(CANARY)
    assert canary
    assert len(base64.b64decode(canary["data"]["canary"])) == 32
    async with scene.kube() as kube:
        await wait_ready(kube, APPS, timeout=60)
        await wait_ready(kube, Ref("apps/v1", "Deployment", "hello", "hello"), timeout=60)
    hello = await scene.get(Ref("v1", "Secret", "cluster-secrets", "hello"))
    assert hello
    assert base64.b64decode(hello["data"]["EXAMPLE"]) == b"change-me"

    before = await versions(scene)
    again = await scene.run_gitops()
    assert again.error is None, again.error
    assert [stage.changes for stage in again.stages] == [()]
    after = await versions(scene)
    assert {k: after[k] for k in before} == before
