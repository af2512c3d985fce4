"""A Node is deleted in the cluster of these secrets only, whatever a context is called (row 21)."""

from __future__ import annotations

import base64
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.examples import EXAMPLES

from talops.errors import TalopsError
from talops.inventory.load import load
from talops.kube.kubeconfig import Kubeconfig
from talops.site import connections
from talops.stages import forget_one
from talops.stages.forget_one import ForgetOne

if TYPE_CHECKING:
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle

CLUSTER = load(EXAMPLES / "ha").require()


def stage(bundle: Bundle, config: Kubeconfig, patch: pytest.MonkeyPatch, root: Path) -> ForgetOne:
    """`talops reset`, whose kubeconfig has a context with the name of the cluster."""

    async def read() -> Bundle:
        return bundle

    for module in (connections, forget_one):
        patch.setattr(module, "load", lambda *_: config)
    site: Any = SimpleNamespace(cluster=CLUSTER, kubeconfig=root / "kubeconfig")
    secrets: Any = SimpleNamespace(read=read)
    nothing: Any = None
    return ForgetOne(site, CLUSTER.nodes[0], secrets, nothing)


def config_of(bundle: Bundle, other: Bundle | None = None) -> Kubeconfig:
    ca = base64.b64decode((other or bundle).k8s.crt).decode()
    return Kubeconfig("https://127.0.0.1:1", "ha", ca)


async def test_a_context_of_another_cluster(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The attack: the same name, another cluster; `reset` deleted a Node there."""
    other = replace(bundle, k8s=replace(bundle.k8s, crt=bundle.os.crt))
    asked: list[Any] = []
    monkeypatch.setattr(connections, "KubeClient", asked.append)
    found = stage(bundle, config_of(bundle, other), monkeypatch, tmp_path)
    with pytest.raises(TalopsError, match="is that of another cluster: it has another CA") as why:
        await found.observe()
    assert why.value.hint == "talops up --only kubeconfig"
    with pytest.raises(TalopsError, match="another CA"):
        await found.apply(found.plan(forget_one.Facts(known=True))[0])
    assert asked == []


async def test_the_own_cluster(bundle: Bundle) -> None:
    """Its CA is the one of the secrets; a bundle of several CAs may contain it."""
    own = config_of(bundle)
    assert connections.trusts(own, bundle)
    other = replace(bundle, k8s=replace(bundle.k8s, crt=bundle.os.crt))
    assert not connections.trusts(config_of(bundle, other), bundle)
    both = replace(own, ca=f"{config_of(bundle, other).ca}\n{own.ca}")
    assert connections.trusts(both, bundle)
    assert not connections.trusts(replace(own, ca=None), bundle)
