"""Gates of the user: expressions, Jobs and commands, and what each says when it is closed."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from talops.errors import TalopsError
from talops.inventory.operating import Gate as Settings
from talops.kube.objects import Ref
from talops.redaction import Secret
from talops.rolls.expressions import holds
from talops.rolls.gates import Absence
from talops.rolls.kube_access import KubeAccess
from talops.rolls.user_gates import LONGEST, Repeated, command, user_gates
from talops.site.site import Site
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable
    from pathlib import Path

    from tests.examples import Example
    from tests.rolls.conftest import Rolling

    Start = Callable[..., contextlib.AbstractAsyncContextManager[Rolling]]

NODE: dict[str, Any] = {
    "metadata": {"name": "w-1"},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "capacity": {"cpu": 4},
        "phase": None,
    },
}
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: smoke}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: smoke, image: busybox, command: ["true"]}]
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("object.status.capacity.cpu >= 4", True),
        ("object.status.capacity.cpu > 4", False),
        ('object.status.conditions.exists(c, c.type == "Ready" && c.status == "True")', True),
        ("has(object.status.health)", False),
        ("object.status.health == 'HEALTH_OK'", False),
        ("object.status.phase == null", True),
    ],
)
def test_expressions(expression: str, expected: bool) -> None:
    """As Kubernetes evaluates CEL; a field that the object lacks is not a yes."""
    assert holds(expression, NODE, "gate") is expected


@pytest.mark.parametrize("expression", ["object.status.", "object.metadata.name", "objects == 1"])
def test_wrong_expressions(expression: str) -> None:
    """A mistake is an error of the gate, not a no."""
    with pytest.raises(TalopsError, match="cannot evaluate") as wrong:
        holds(expression, NODE, "ceph")
    assert wrong.value.where == "gate ceph"


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "cel", None)
    with pytest.raises(TalopsError, match="extra") as missing:
        holds("true", NODE, "ceph")
    assert missing.value.hint == "pip install 'talops[gates]'"


@pytest.fixture
def site(example: Example, tmp_path: Path) -> Site:
    nothing: Any = None
    environment = {"PATH": "/usr/bin:/bin", "SOPS_AGE_KEY": "AGE-SECRET-KEY-1"}
    credentials = {"password": Secret("hunter22")}
    return Site(
        example("dev"), tmp_path, environment, credentials, nothing, tmp_path, tmp_path / "k"
    )


def gate(**settings: Any) -> Settings:
    return Settings.model_validate({"name": "own", **settings})


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 0", ""),
        ("echo one; echo two; exit 3", "sh ended with 3: two"),
        ("exit 1", "sh ended with 1: no output"),
        ('echo "the password is hunter22"; exit 1', "sh ended with 1: the password is ***"),
        ('test -z "$SOPS_AGE_KEY" && test -n "$KUBECONFIG" && test "$PWD" = "$(pwd)"', ""),
    ],
)
async def test_commands(site: Site, script: str, reason: str) -> None:
    """The exit code decides, the last line explains; secrets are masked, without the age key."""
    assert await command(gate(command=["sh", "-c", script]), site) == reason


async def test_a_command_that_does_not_end(site: Site) -> None:
    """It is killed, and the gate stays closed."""
    said = await command(gate(command=["sleep", "60"], timeout=1), site)
    assert said == "sleep did not end within 1 s"
    with pytest.raises(TalopsError, match="cannot start"):
        await command(gate(command=["./missing"]), site)


async def test_expensive_gates_are_not_asked_all_the_time() -> None:
    """A closed gate keeps its reason for a while; an open one is asked before each node."""
    asked: list[str] = []

    async def attempt() -> str:
        asked.append("x")
        return "y" * 999 if len(asked) == 1 else ""

    patient = Repeated("own", attempt, pause=3600)
    assert await patient.closed(Absence()) == await patient.closed(Absence()) == "y" * LONGEST
    assert len(asked) == 1
    asked.clear()
    quick = Repeated("own", attempt, pause=0)
    assert await quick.closed(Absence())
    assert await quick.closed(Absence()) == ""
    assert await quick.closed(Absence()) == ""
    assert len(asked) == 3


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_against_a_real_api_server(rolling: Start) -> None:
    """Live objects decide; a Job is created, waited for, and removed whatever becomes of it."""
    async with rolling("cp-1") as cluster:
        (cluster.lab.root / "smoke.yaml").write_text(JOB, encoding="utf-8")
        ready = 'object.status.conditions.exists(c, c.type == "Ready" && c.status == "True")'
        nodes = {"api_version": "v1", "kind": "Node"}
        settings = (
            gate(object=nodes, expression=ready),
            gate(object=nodes, expression="object.spec.unschedulable"),
            gate(object={**nodes, "name": "other"}, expression=ready),
            gate(job="smoke.yaml", timeout=30),
            gate(job="smoke.yaml", timeout=1),
        )
        site = replace(cluster.site, cluster=replace(cluster.site.cluster, gates=settings))
        access = KubeAccess(site, cluster.secrets(site))
        yes, no, absent, job, late = user_gates(site, access)
        assert await yes.closed(Absence()) == ""
        assert "is false for cp-1" in await no.closed(Absence())
        assert await absent.closed(Absence()) == "no Node other was found"
        asked = asyncio.ensure_future(job.closed(Absence()))
        await _complete_the_job(cluster)
        assert await asked == ""
        assert "did not complete within 1 s" in await late.closed(Absence())
        async with cluster.kube() as kube:
            left = [o["metadata"] for o in await kube.list_all("batch/v1", "Job")]
            assert [meta for meta in left if not meta.get("deletionTimestamp")] == []


async def _complete_the_job(cluster: Rolling) -> None:
    """As the Job controller, which does not run here, writes it."""
    async with cluster.kube() as kube:

        async def created() -> Ready[Ref] | NotYet:
            found = await kube.list_all("batch/v1", "Job")
            if not found:
                return NotYet("there is no Job")
            return Ready(Ref.of({**found[0], "apiVersion": "batch/v1", "kind": "Job"}))

        ref = await wait_for("a Job", created, timeout=30, interval=0.05)
        now = "2026-11-19T12:00:00Z"
        done = [
            {"type": kind, "status": "True", "lastProbeTime": now, "lastTransitionTime": now}
            for kind in ("SuccessCriteriaMet", "Complete")
        ]
        status = {"startTime": now, "completionTime": now, "succeeded": 1, "conditions": done}
        await kube.merge(ref, {"status": status}, subresource="status")
