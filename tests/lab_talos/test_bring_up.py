"""From power-on to a real Kubernetes."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from google.protobuf.empty_pb2 import Empty
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from ruamel.yaml import YAML
from tests.lab_talos.harness import until

from talops.lab.kubernetes.pki import KeyPair, client_context, from_base64
from talops.talos.wire.machine_pb2 import BootstrapRequest, EtcdMemberListRequest

if TYPE_CHECKING:
    from tests.lab_talos.harness import Lab

pytestmark = pytest.mark.slow
VIP = {"apiVersion": "v1alpha1", "kind": "Layer2VIPConfig", "link": "eth0"}


async def kubeconfig(lab: Lab, name: str) -> dict[str, Any]:
    content = b""
    async with lab.api(name).Kubeconfig.open() as stream:
        await stream.send_message(Empty(), end=True)
        async for part in stream:
            content += part.bytes
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        member = archive.next()
        assert member is not None
        file = archive.extractfile(member)
        assert file is not None
        found: dict[str, Any] = YAML(typ="safe").load(file.read())
        return found


async def nodes(config: dict[str, Any]) -> dict[str, Any]:
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    pair = KeyPair(
        from_base64(user["client-certificate-data"]), from_base64(user["client-key-data"])
    )
    context = client_context(from_base64(cluster["certificate-authority-data"]), pair)
    async with httpx.AsyncClient(verify=context, trust_env=False) as http:
        reply = await http.get(f"{cluster['server']}/api/v1/nodes")
    assert reply.is_success, reply.text
    return {item["metadata"]["name"]: item for item in reply.json()["items"]}


async def test_three_control_planes_and_two_workers(real_lab: Lab) -> None:
    """Real members, real API servers, every node Ready, Kubernetes behind the shared address."""
    lab, planes, workers = real_lab, ["cp-1", "cp-2", "cp-3"], ["w-1", "w-2"]
    await lab.start(*planes, *workers)
    for name in planes:
        await lab.configure(name, {**VIP, "name": f"{lab.network}.250"}, nodeLabels={"zone": "a"})
    for name in workers:
        await lab.configure(name, nodeTaints={"gpu": "yes:NoSchedule"})
    await lab.bootstrap("cp-1")
    await lab.ready()

    reply = await lab.api("cp-2").EtcdMemberList(EtcdMemberListRequest())
    assert {m.hostname for m in reply.messages[0].members} == set(planes)
    found = await until(lambda: _reachable(lab))
    assert set(found) == {*planes, *workers}
    assert found["cp-1"]["metadata"]["labels"]["zone"] == "a"
    assert {"key": "gpu", "value": "yes", "effect": "NoSchedule"} in found["w-1"]["spec"]["taints"]
    address = {"type": "InternalIP", "address": lab.address("w-2")}
    assert address in found["w-2"]["status"]["addresses"]
    assert found["w-2"]["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.3"
    for node in found.values():
        ready = [c["status"] for c in node["status"]["conditions"] if c["type"] == "Ready"]
        assert ready == ["True"]


async def _reachable(lab: Lab) -> dict[str, Any]:
    try:
        return await nodes(await kubeconfig(lab, "cp-1"))
    except httpx.HTTPError as error:
        raise OSError(str(error)) from error


async def test_second_bootstrap_is_refused(real_lab: Lab) -> None:
    """AlreadyExists tells a caller that somebody was first."""
    await real_lab.start("cp-1")
    await real_lab.configure("cp-1")
    await real_lab.bootstrap("cp-1")
    with pytest.raises(GRPCError) as refused:
        await real_lab.api("cp-1").Bootstrap(BootstrapRequest())
    assert refused.value.status is Status.ALREADY_EXISTS
    assert refused.value.message == "etcd data directory is not empty"
    await real_lab.ready()


async def test_one_api_server_for_all(lean_lab: Lab) -> None:
    """A lean lab has one API server, and another takes over when its machine goes."""
    lab, names = lean_lab, ["cp-1", "cp-2", "cp-3"]
    await lab.cluster(*names)

    def serving() -> list[str]:
        return [n for n in names if lab.host.node(n) and lab.node(n).control_plane.api_ready]

    assert len(serving()) == 1
    first = serving()[0]
    await lab.host.power_off(lab.machines[first].uuid, graceful=False)

    async def taken_over() -> bool:
        return bool(serving()) and serving() != [first]

    await until(taken_over)
