"""Keys of contract 1.14 on a node of the lab: a real etcd and a real API server tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from talops.events import Note
from talops.kube.client import KubeClient
from talops.kube.kubeconfig import load as load_kubeconfig
from talops.machineconfig.secrets.rotating import Rotated

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable

    from tests.rotation.conftest import Rotating

    Start = Callable[..., contextlib.AbstractAsyncContextManager[Rotating]]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
ENCRYPTED = b"k8s:enc:secretbox:v1:"


async def stored(cluster: Rotating, name: str) -> bytes:
    """What etcd has: it begins with the name of the key that encrypted it."""
    etcd = cluster.lab.lab.node("cp-1").control_plane.etcd
    assert etcd is not None
    found = await etcd.client.get(f"/registry/secrets/default/{name}".encode())
    assert found is not None
    return found


@pytest.mark.sampled("rotations")
async def test_both_keys_are_replaced_without_an_outage(rotating: Start) -> None:
    """Secrets are encrypted with the new key and still read; old tokens are refused at the end."""
    async with rotating("cp-1", version="v1.14.1") as cluster:
        config = load_kubeconfig(cluster.lab.root / "kubeconfig", "lab")
        assert config is not None
        async with KubeClient(config) as kube:
            secret = {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "b"}}
            await kube.apply({**secret, "metadata": {"name": "x", "namespace": "default"}})
        assert (await stored(cluster, "x")).startswith(ENCRYPTED + b"key2:")
        before = cluster.bundle
        done = await cluster.rotate(Rotated.ENCRYPTION)
        assert done.error is None, done.error
        assert (await stored(cluster, "x")).startswith(ENCRYPTED + b"key3:")
        notes = [event.message for event in cluster.lab.events if isinstance(event, Note)]
        assert any("encrypted with the new key" in text for text in notes)
        after = cluster.bundle
        assert (after.secretbox_name, after.rotations) == ("key3", {})
        assert after.secretbox.reveal() != before.secretbox.reveal()
        done = await cluster.rotate(Rotated.SERVICE_ACCOUNT)
        assert done.error is None, done.error
        assert cluster.bundle.service_account.reveal() != before.service_account.reveal()
        up = await cluster.up()
        assert up.error is None, up.error
        assert {str(stage.status) for stage in up.stages} == {"unchanged"}
