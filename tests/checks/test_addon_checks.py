"""What `talops verify` makes of GPUs, Flux, storage and the smoke test: facts in, findings."""

from __future__ import annotations

import base64
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.checks.verdicts import verdict
from tests.examples import Example, kube_nodes

from talops.checks.after import flux, gpus, smoke, storage
from talops.pipeline.checks import Verdict

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.kube.objects import Ref


@pytest.mark.parametrize(
    ("have", "run", "expected"),
    [
        ("1", True, "passed"),
        ("0", True, "failed"),
        ("0", False, "unproven"),
        ("2", False, "passed"),
    ],
)
def test_gpu_capacity(example: Example, have: str, run: bool, expected: str) -> None:
    """Missing capacity fails only where a device plugin could run."""
    gpu = example("gpu")
    seen = kube_nodes(gpu)
    for node in seen.values():
        node["status"]["allocatable"] = {gpus.RESOURCE: have}
    assert {f.verdict for f in gpus.judge(gpu, seen, run=run)} == {expected}


class Kube:
    """As much of a cluster as the check asks about."""

    def __init__(self, *objects: Ref) -> None:
        self.objects = objects

    async def list_all(self, *_: str) -> list[Any]:
        return []

    async def get(self, ref: Ref) -> dict[str, Any] | None:
        return {"kind": ref.kind} if ref in self.objects else None


@pytest.mark.parametrize(
    ("talos", "left", "warned"),
    [("v1.13.9", True, True), ("v1.13.9", False, False), ("v1.12.4", True, False)],
)
async def test_the_old_device_plugin(
    example: Example, talos: str, left: bool, warned: bool
) -> None:
    """Two plugins for the same GPUs: below Talos 1.13 there is one, and it is the right one."""
    kube = Kube(gpus.OLD_PLUGIN) if left else Kube()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Kube]:
        yield kube

    site = SimpleNamespace(cluster=replace(example("gpu"), talos_version=talos))
    reach: Any = SimpleNamespace(site=site, kube=opened)
    found = await gpus.look(reach)
    assert (gpus.LEFT_OVER in found) is warned


def _flux(kind: str, ready: str | None, **spec: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": ready, "reason": "Why"}] if ready else []
    meta = {"name": "apps", "namespace": "flux-system"}
    return {"kind": kind, "metadata": meta, "spec": spec, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("obj", "run", "expected", "says"),
    [
        (_flux("GitRepository", "True"), True, "passed", "Ready"),
        (
            _flux("Kustomization", "True", decryption={"provider": "sops"}),
            True,
            "passed",
            "decrypt",
        ),
        (_flux("Kustomization", "False"), True, "failed", "Why"),
        (_flux("Kustomization", None), True, "failed", "no condition Ready yet"),
        (_flux("Kustomization", None), False, "unproven", "no controller manager"),
        (_flux("Kustomization", "True", suspend=True), True, "warning", "suspended"),
    ],
)
def test_flux_objects(obj: dict[str, Any], run: bool, expected: str, says: str) -> None:
    """Ready, broken, untouched, suspended."""
    (found,) = flux.judge([obj], run=run)
    assert found.verdict == expected
    assert says in found.what


@pytest.mark.parametrize(
    ("value", "expected"), [("plain", "passed"), ("ENC[AES256_GCM", "failed"), ("", "unproven")]
)
def test_the_canary(value: str, expected: str) -> None:
    """Plain in the cluster, or missing; never still encrypted."""
    data = {"canary": base64.b64encode(value.encode()).decode()}
    assert flux.judge_canary({"data": data}).verdict == expected
    assert flux.judge_canary(None).verdict == "unproven"


def test_storage_class() -> None:
    """Only one of the plugin counts."""
    ours = {"metadata": {"name": "fast"}, "provisioner": storage.PROVISIONER}
    other = {"metadata": {"name": "other"}, "provisioner": "x"}
    assert verdict(storage.judge([other, ours])) is Verdict.PASSED
    assert verdict(storage.judge([other])) is Verdict.WARNING


def test_the_smoke_workload_belongs_together() -> None:
    """The service selects the server alone, and the job asks for it by its DNS name."""
    service, deployment, job = smoke.workload("space", "cafe")
    selector = service["spec"]["selector"]
    assert deployment["spec"]["template"]["metadata"]["labels"] == selector
    assert job["spec"]["template"]["metadata"]["labels"] != selector
    command = job["spec"]["template"]["spec"]["containers"][0]["command"][-1]
    assert "http://talops-smoke.space.svc:8080" in command
    assert "cafe" in command
