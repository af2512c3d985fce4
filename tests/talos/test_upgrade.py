"""Upgrades in both dialects, and how the new one fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from talops.talos.calls.upgrade import Dialect, dialect_of
from talops.talos.errors import CallFailedError
from talops.talos.wire import common_pb2, image_pb2, lifecycle_pb2
from talops.talos.wire import machine_pb2 as pb

if TYPE_CHECKING:
    from tests.talos.conftest import FakeNode

    from talops.talos.client import Talos


@pytest.mark.parametrize(
    ("release", "dialect"),
    [
        ((1, 12), Dialect.LEGACY),
        ((1, 13), Dialect.LIFECYCLE),
        ((1, 14), Dialect.LIFECYCLE),
        ((2, 0), Dialect.LIFECYCLE),
        ((0, 0), Dialect.LEGACY),
    ],
)
def test_dialects(release: tuple[int, int], dialect: Dialect) -> None:
    """Since 1.13 an upgrade is pulled, installed and booted by the caller."""
    assert dialect_of(release) is dialect


async def test_upgrade_legacy(talos: Talos, node: FakeNode) -> None:
    """`preserve` would only skip the node's own check of etcd."""
    node.on("Upgrade", pb.UpgradeResponse(messages=[pb.Upgrade(ack="ok", actor_id="a")]))
    assert await talos.upgrade.legacy("factory/installer:v1.12.4", stage=True) == "a"
    (request,) = node.requests("Upgrade")
    assert (request.preserve, request.stage, request.force) == (False, True, False)


def lifecycle(text: str = "", code: int | None = None) -> Any:
    progress = lifecycle_pb2.LifecycleServiceInstallProgress()
    if code is None:
        progress.message = text
    else:
        progress.exit_code = code
    return lifecycle_pb2.LifecycleServiceUpgradeResponse(progress=progress)


async def test_upgrade_lifecycle(talos: Talos, node: FakeNode) -> None:
    """Pull gives the stored name, install its lines; the image goes to Talos' own namespace."""
    layer = image_pb2.ImageServicePullProgress(
        layer_id="l",
        progress=image_pb2.ImageServicePullLayerProgress(
            status="DOWNLOAD_COMPLETE", offset=5, total=5
        ),
    )
    node.on(
        "Pull",
        [
            image_pb2.ImageServicePullResponse(pull_progress=layer),
            image_pb2.ImageServicePullResponse(name="img@sha256:1"),
        ],
    )
    seen: list[Any] = []
    assert await talos.upgrade.pull("img", seen.append) == "img@sha256:1"
    assert (seen[0].layer, seen[0].status, seen[0].done) == ("l", "download complete", 5)
    node.on("Upgrade", [lifecycle("copying\ndone"), lifecycle(code=0)])
    lines = [line async for line in talos.upgrade.install("img@sha256:1")]
    assert lines == ["copying", "done"]
    (request,) = node.requests("Upgrade")
    assert request.containerd.namespace == common_pb2.NS_SYSTEM
    assert request.source.image_name == "img@sha256:1"


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([lifecycle("no space"), lifecycle(code=1)], "exit code 1; its last message: no space"),
        ([lifecycle("one\ntwo\n"), lifecycle(code=3)], r"exit code 3 \(not supported\).*: two"),
        ([], "without an exit code"),
    ],
)
async def test_upgrade_that_fails(
    talos: Talos, node: FakeNode, items: list[Any], reason: str
) -> None:
    """A failed installer is an error although gRPC calls it a success."""
    node.on("Upgrade", items)
    with pytest.raises(CallFailedError, match=reason):
        [line async for line in talos.upgrade.install("img")]


async def test_unfinished_pull(talos: Talos, node: FakeNode) -> None:
    """A pull that ends without a name did not finish."""
    node.on("Pull", [])
    with pytest.raises(CallFailedError, match="not pulled"):
        await talos.upgrade.pull("img")
