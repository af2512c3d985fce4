"""What is read before and after an upgrade: from a real kube-apiserver, and as Talos renders it."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.kube.conftest import kubeconfig  # noqa: F401  (a fixture)
from tests.lab.talos.site import QUICK
from tests.upgrades.kubernetes.test_problems import node

from talops.kube.client import KubeClient
from talops.pipeline.stage import Reporter
from talops.talos.resources import Resource as Cosi
from talops.upgrades.kubernetes.reading import read_uses, stored_objects
from talops.upgrades.kubernetes.removed import Resource
from talops.upgrades.kubernetes.rendered import rendered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.kube.kubeconfig import Kubeconfig
    from talops.rolls.kube_access import KubeAccess
    from talops.site.fleet import Fleet

ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles")
NOT_SERVED = Resource("scheduling.k8s.io", "v1alpha9", "workloads")
UNKNOWN = Resource("example.com", "v1", "things")


class Access:
    """To one API server."""

    def __init__(self, config: Kubeconfig) -> None:
        self._config = config

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[KubeClient]:
        async with KubeClient(self._config) as kube:
            yield kube


@pytest.mark.slow
async def test_objects_and_requests(kubeconfig: Kubeconfig) -> None:  # noqa: F811
    """As many as there are, over all pages; a version that is not served has none."""
    access = Access(kubeconfig)
    found = await stored_objects(cast("KubeAccess", access), [ROLES, NOT_SERVED, UNKNOWN])
    async with access.open() as kube:
        every = await kube.list_all("rbac.authorization.k8s.io/v1", "ClusterRole")
        assert len(every) > 1
        assert found == {ROLES: len(every)}

        # A deprecated API without a release that removes it: the line is there, and no warning.
        await kube.get_json("/api/v1/componentstatuses")
        metrics = await kube.get_text("/metrics")
    (line,) = (
        line
        for line in metrics.splitlines()
        if line.startswith("apiserver_requested_deprecated_apis{") and "componentstatuses" in line
    )
    assert read_uses(line) == set()
    found_uses = read_uses(line.replace('removed_release=""', 'removed_release="1.37"'))
    assert [(use.name, use.gone) for use in found_uses] == [("componentstatuses of v1", 37)]


OLD, NEW = "registry.k8s.io/kube-proxy:v1.35.4", "registry.k8s.io/kube-proxy:v1.36.1"
# As a spec of `Manifests` in recordings of Talos 1.13.9: a list of objects.
PROXY = """\
- apiVersion: apps/v1
  kind: DaemonSet
  metadata: {{name: kube-proxy, namespace: kube-system}}
  spec:
    template:
      spec:
        containers:
          - {{name: kube-proxy, image: "{image}"}}
"""
ROLE = "- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}}\n"


class Rendering:
    """A control plane whose manifests follow its config a moment later."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.resources = self

    @contextlib.asynccontextmanager
    async def talos(self, _: object) -> AsyncIterator[Rendering]:
        yield self

    async def list(self, *_: str) -> list[Cosi]:
        text = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [_manifest("11-kube-proxy", text), _manifest("00-role", ROLE)]


def _manifest(name: str, text: str) -> Cosi:
    now = datetime.now(UTC)
    kind = "Manifests.kubernetes.talos.dev"
    return Cosi("controlplane", kind, name, "1", "", "running", now, now, yaml_spec=text)


@pytest.mark.parametrize(
    ("answers", "proxy", "image"),
    [
        ((OLD, OLD, NEW), NEW, NEW),
        ((NEW,), NEW, NEW),
        ((OLD,), "", OLD),
    ],
)
async def test_manifests_follow_the_config(
    answers: tuple[str, ...], proxy: str, image: str
) -> None:
    """Those of the new image of kube-proxy, in the order of their names; any, without an image."""
    control_plane: Any = Rendering(*(PROXY.format(image=answer) for answer in answers))
    report = Reporter("upgrade", lambda _: None)
    objects = await rendered(cast("Fleet", control_plane), node("cp-1"), proxy, QUICK, report)
    assert [obj["kind"] for obj in objects] == ["ClusterRole", "DaemonSet"]
    containers = objects[1]["spec"]["template"]["spec"]["containers"]
    assert containers == [{"name": "kube-proxy", "image": image}]
