"""From power-on to a real Kubernetes."""

from __future__ import annotations

import asyncio
import io
import tarfile
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from google.protobuf.empty_pb2 import Empty
from ruamel.yaml import YAML
from tests.lab.talos.harness import until

from talops.lab.kubernetes.pki import KeyPair, client_context, from_base64
from talops.talos.wire.machine_pb2 import EtcdMemberListRequest

if TYPE_CHECKING:
    from tests.lab.talos.harness import Lab

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


@pytest.mark.sampled("nodes of the lab")
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
    await _shared_address_moves(lab, planes)


async def _shared_address_moves(lab: Lab, planes: list[str]) -> None:
    """When its holder goes, another control plane answers on the shared address."""

    async def voters() -> bool:
        reply = await lab.api(planes[0]).EtcdMemberList(EtcdMemberListRequest())
        return all(not member.is_learner for member in reply.messages[0].members)

    await until(voters)
    shared = lab.host.fabric.vip(f"{lab.network}.250")
    first = shared.holder
    name = next(n for n in planes if lab.address(n) == first)
    await lab.host.power_off(lab.machines[name].uuid, graceful=False)

    async def moved() -> bool:
        return shared.holder not in {None, first}

    await until(moved)
    _, writer = await asyncio.open_connection(shared.address, 6443)
    writer.close()


async def _reachable(lab: Lab) -> dict[str, Any]:
    try:
        return await nodes(await kubeconfig(lab, "cp-1"))
    except httpx.HTTPError as error:
        raise OSError(str(error)) from error
