"""The stage `addons` with real helm and a real API server."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest
from tests.lab.flux.test_handover import versions

from talops.events import Note
from talops.kube.objects import Object, Ref
from talops.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.lab.flux.site import Scene

pytestmark = pytest.mark.slow

ALL = """\
cni: {name: cilium, values: cilium.yaml, kube_proxy: false}
addons: {metrics_server: true, nvidia: true, proxmox_csi: true, proxmox_ccm: true}
truenas: {url: "https://nas.example", pool: tank}
"""
KINDS = (
    ("v1", "Secret"),
    ("v1", "ConfigMap"),
    ("v1", "Namespace"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("node.k8s.io/v1", "RuntimeClass"),
)
SETTINGS = Ref("v1", "ConfigMap", "cilium-config", "kube-system")


@pytest.mark.sampled("hand-over to Flux")
async def test_every_addon_arrives_once(scene: Scene, tool: Callable[[str], Path]) -> None:
    """Charts with the user's values, namespaces, credentials; then nothing is left to do."""
    tool("helm")
    await refuse_charts(scene)
    scene.credentials = {
        "proxmox_api_token_id": Secret("talops@pve!talops"),
        "proxmox_api_token_secret": Secret("not-for-the-cluster"),
        "proxmox_csi_token_id": Secret("lab-csi@pve!csi"),
        "proxmox_csi_token_secret": Secret("0000-1111"),
        "proxmox_ccm_token_id": Secret("lab-ccm@pve!ccm"),
        "proxmox_ccm_token_secret": Secret("2222-3333"),
        "truenas_api_key": Secret("1-abcdefgh"),
    }
    (scene.root / "cilium.yaml").write_text("hubble: {enabled: true}\nipam: {mode: cluster-pool}\n")
    scene.write_inventory(ALL)
    result = await scene.run_addons()
    assert result.error is None, result.error
    assert len(result.stages[0].changes) == 6

    values = json.loads((await scene.get(SETTINGS) or {})["data"]["values"])
    assert values["hubble"]["enabled"]
    assert values["ipam"]["mode"] == "cluster-pool"
    assert values["k8sServicePort"] == 7445
    assert await scene.get(Ref("apps/v1", "Deployment", "gpu-operator", "gpu-operator"))
    place = await scene.get(Ref("v1", "Namespace", "gpu-operator"))
    assert place
    assert place["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    told = await scene.get(Ref("v1", "ConfigMap", "gpu-operator-config", "gpu-operator"))
    assert told
    assert json.loads(told["data"]["values"])["hostPaths"] == {"driverInstallDir": "/usr/local"}
    held = await scene.get(Ref("v1", "Secret", "proxmox-csi-plugin", "csi-proxmox"))
    assert held
    config = json.loads(base64.b64decode(held["data"]["config.yaml"]))
    assert config["clusters"][0]["token_secret"] == "0000-1111"
    await an_old_secret_stays(scene, held)

    nas = await scene.get(Ref("v1", "Secret", "truenas-api", "democratic-csi"))
    assert nas
    opened = {key: base64.b64decode(value).decode() for key, value in nas["data"].items()}
    assert opened == {"api-key": "1-abcdefgh", "url": "https://nas.example", "pool": "tank"}

    before = await versions(scene, KINDS)
    assert "Secret democratic-csi/truenas-api" in before
    again = await scene.run_addons()
    assert [stage.changes for stage in again.stages] == [()]
    assert await versions(scene, KINDS) == before


async def an_old_secret_stays(scene: Scene, held: Object) -> None:
    """Without a token of its own, an older value is kept with a warning, and no value is stored."""
    kept, scene.credentials = scene.credentials, dict(scene.credentials)
    del scene.credentials["proxmox_csi_token_secret"]
    result = await scene.run_addons()
    assert result.error is None, result.error
    assert await scene.get(Ref.of(held)) == held
    warnings = [event for event in scene.events if isinstance(event, Note)]
    assert warnings[-1].hint == "talops host prepare --user root@pam"
    async with scene.kube() as kube:
        await kube.delete(Ref.of(held))
    refused = await scene.run_addons()
    assert refused.error
    assert refused.error.what == "addons.proxmox_csi has no Proxmox token of its own"
    assert await scene.get(Ref.of(held)) is None
    scene.credentials = kept
    assert (await scene.run_addons()).error is None


async def refuse_charts(scene: Scene) -> None:
    """Missing, or not the pinned one: refused before anything is applied, and not kept."""
    mirror = scene.releases.endpoints()["metrics-server"]
    gone = {**mirror, "url": mirror["url"].replace(".tgz", "-gone.tgz"), "sha256": "2" * 64}
    other = {**mirror, "sha256": "3" * 64}
    before = await versions(scene, KINDS)
    for entry, words in ((gone, "does not exist: HTTP 404"), (other, "not the pinned file")):
        pin = {"metrics-server": {**entry, "ca_file": "lab-ca.pem"}}
        scene.write_inventory("addons: {metrics_server: true}\n", releases=pin)
        result = await scene.run_addons()
        assert result.error
        assert words in result.error.what
        assert result.error.where == entry["url"]
        assert result.error.hint
        assert not list((scene.root / ".talops").rglob(str(entry["sha256"])))
    assert await versions(scene, KINDS) == before


async def test_what_flux_keeps_is_left_to_flux(scene: Scene, tool: Callable[[str], Path]) -> None:
    """Once Flux has applied it, talops lets its fields go and never touches it again."""
    tool("helm")
    scene.write_inventory("addons: {metrics_server: true}\n")
    assert (await scene.run_addons()).error is None
    ref = Ref("apps/v1", "Deployment", "metrics-server", "kube-system")
    live = await scene.get(ref)
    assert live
    labels = {"app": "metrics-server", "kustomize.toolkit.fluxcd.io/name": "apps"}
    spec = {**live["spec"], "replicas": 3}
    wanted = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    wanted["metadata"] = {"name": ref.name, "namespace": ref.namespace, "labels": labels}
    async with scene.kube() as kube:
        await kube.apply(wanted, manager="kustomize-controller")

    second = await scene.run_addons()
    assert second.stages[0].changes == ("release metrics-server (1 object to Flux)",)
    third = await scene.run_addons()
    assert third.stages[0].changes == ()
    live = await scene.get(ref)
    assert live
    assert live["spec"]["replicas"] == 3
    managers = {entry["manager"] for entry in live["metadata"]["managedFields"]}
    assert "talops" not in managers
