"""Kubernetes' versions in the lab: as `talosctl upgrade-k8s` changes and watches them.

The order of events is that of Talos' pkg/cluster/kubernetes (talos_managed.go, kubelet.go): the
next version of the config resource, then the pod with that annotation; the kubelet's service stops
and becomes healthy again, then the Node has the version.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.lab.talos.cluster_files import to_yaml
from tests.lab.talos.harness import until

from talops.errors import TalopsError
from talops.lab.kubernetes.apiserver import PORT, admin_context
from talops.talos.wire import cosi_pb2
from talops.talos.wire.cosi_grpc import StateStub
from talops.talos.wire.machine_pb2 import ApplyConfigurationRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.lab.talos.harness import Lab

pytestmark = pytest.mark.slow
CONFIG = ("controlplane", "APIServerConfigs.kubernetes.talos.dev", "kube-apiserver")
SCHEDULER = ("controlplane", "SchedulerConfigs.kubernetes.talos.dev", "kube-scheduler")
KUBELET = ("runtime", "Services.v1alpha1.talos.dev", "kubelet")


@contextlib.asynccontextmanager
async def watched(
    lab: Lab, name: str, key: tuple[str, str, str]
) -> AsyncIterator[Callable[[], Any]]:
    """The next event of one resource; the first one says that it is there."""
    request: dict[str, Any] = dict(zip(("namespace", "type", "id"), key, strict=True))
    async with StateStub(lab.channel(name)).Watch.open() as stream:
        await stream.send_message(cosi_pb2.WatchRequest(**request, api_version=1), end=True)
        await stream.recv_message()

        async def following() -> Any:
            message = await stream.recv_message()
            assert message is not None
            return message.event[0]

        first = await following()
        assert first.event_type == cosi_pb2.CREATED
        yield following
        await stream.cancel()


async def patch(lab: Lab, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    kind = "controlplane" if name.startswith("cp") else "worker"
    documents = lab.files.documents(kind, name)
    change(documents[0])
    request = ApplyConfigurationRequest(
        data=to_yaml(documents), mode=ApplyConfigurationRequest.NO_REBOOT
    )
    await lab.api(name).ApplyConfiguration(request)


@pytest.mark.sampled("nodes of the lab")
async def test_versions_follow_the_config(real_lab: Lab) -> None:
    """The API server, another static pod, then the kubelet; nothing reboots."""
    lab = real_lab
    await lab.cluster("cp-1")
    boot = lab.node("cp-1").boot_id
    assert await server_version(lab) == "v1.36.3"
    wanted: dict[str, Any] = {}

    def change(config: dict[str, Any]) -> None:
        config["cluster"].update(wanted.get("cluster", {}))
        config["machine"].update(wanted.get("machine", {}))

    image = "registry.k8s.io/kube-apiserver:v1.35.4"
    wanted["cluster"] = {"apiServer": {"image": image}}
    await _a_static_pod_changes(lab, CONFIG, change, image)
    assert await server_version(lab) == "v1.35.4"
    image = "registry.k8s.io/kube-scheduler:v1.35.4"
    wanted["cluster"] |= {"scheduler": {"image": image}}
    await _a_static_pod_changes(lab, SCHEDULER, change, image)
    wanted["machine"] = {"kubelet": {"image": "ghcr.io/siderolabs/kubelet:v1.35.4"}}
    await _the_kubelet_changes(lab, change)
    assert lab.node("cp-1").boot_id == boot


async def _a_static_pod_changes(
    lab: Lab, key: tuple[str, str, str], change: Callable[[dict[str, Any]], None], image: str
) -> None:
    async with watched(lab, "cp-1", key) as following:
        await patch(lab, "cp-1", change)
        event = await following()
        assert event.event_type == cosi_pb2.UPDATED
        assert image in event.resource.spec.yaml_spec
        version = event.resource.metadata.version
        assert int(version) == int(event.old.metadata.version) + 1

    async def shown() -> bool:
        pod = await kubernetes(lab, f"/api/v1/namespaces/kube-system/pods/{key[2]}-cp-1")
        if not pod:
            return False
        ready = {c["type"]: c["status"] for c in pod["status"]["conditions"]}["Ready"]
        found = (
            pod["metadata"]["annotations"]["talos.dev/config-version"],
            pod["status"]["hostIP"],
            pod["spec"]["containers"][0]["image"],
            ready,
        )
        return found == (version, lab.address("cp-1"), image, "True")

    await until(shown)


async def _the_kubelet_changes(lab: Lab, change: Callable[[dict[str, Any]], None]) -> None:
    async with watched(lab, "cp-1", KUBELET) as following:
        await patch(lab, "cp-1", change)
        assert (await following()).event_type == cosi_pb2.DESTROYED
        back = await following()
        assert back.event_type == cosi_pb2.CREATED
        assert "healthy: true" in back.resource.spec.yaml_spec

    async def shown() -> bool:
        node = await kubernetes(lab, "/api/v1/nodes/cp-1")
        return bool(node and node["status"]["nodeInfo"]["kubeletVersion"] == "v1.35.4")

    await until(shown)


async def kubernetes(lab: Lab, path: str) -> dict[str, Any]:
    """Empty while the only API server restarts."""
    api = lab.host.fabric.kube_api(lab.files.id)
    assert api is not None
    try:
        return await api.get(path) or {}
    except TalopsError:
        return {}


async def server_version(lab: Lab) -> str:
    """What `/version` says; the metrics of the same process agree."""
    context = admin_context(lab.files.k8s_ca)
    address = f"https://{lab.address('cp-1')}:{PORT}"
    async with httpx.AsyncClient(base_url=address, verify=context) as client:
        metrics = await client.get("/metrics")
        version = await client.get("/version")
    found = str(version.json()["gitVersion"])
    assert f'git_version="{found}"' in metrics.text
    return found
