"""Which steps a rotation has, from any phase, and what it puts into a node's config."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from talops.machineconfig.secrets.rotating import Phase, Rotated
from talops.rotation.steps import Kind, remaining, steps
from talops.rotation.transplant import transplanted

NODES: Any = [
    SimpleNamespace(name=name, controller=name.startswith("cp")) for name in ("cp-1", "w-1")
]
S, N, F, P, R, E = (
    Kind.SECRETS,
    Kind.NODE,
    Kind.FILES,
    Kind.PODS,
    Kind.REWRITE,
    Kind.END,
)


def kinds(rotated: Rotated, now: Phase | None) -> list[Kind]:
    return [step.kind for step in steps(rotated, now, NODES)]


def test_every_phase_is_in_the_secrets_first() -> None:
    """Then all nodes, then the files; pods before the first node uses the new CA."""
    assert kinds(Rotated.TALOS_CA, None) == [S, N, N, F, S, N, N, F, S, N, N, F, E]
    assert kinds(Rotated.KUBERNETES_CA, None) == [S, N, N, F, P, S, N, N, F, S, N, N, F, E]


def test_keys_are_on_control_planes_only() -> None:
    """Secrets are written again before the old key is dropped."""
    assert kinds(Rotated.ENCRYPTION, None) == [S, N, S, N, R, S, N, E]
    assert kinds(Rotated.SERVICE_ACCOUNT, None) == [S, N, S, N, P, S, N, E]


def test_a_rotation_continues_in_its_phase() -> None:
    """All nodes of that phase are visited again: each proves where it is."""
    assert kinds(Rotated.TALOS_CA, Phase.ACCEPT) == [N, N, F, S, N, N, F, S, N, N, F, E]
    assert kinds(Rotated.TALOS_CA, Phase.DROP) == [N, N, F, E]


def test_workers_drop_the_old_kubernetes_ca_first() -> None:
    """Their kubelets use a certificate of the old CA until then; API servers must accept it."""
    found = [step for step in steps(Rotated.KUBERNETES_CA, None, NODES) if step.kind is N]
    order = {phase: [s.node for s in found if s.phase is phase] for phase in Phase}
    assert order[Phase.ACCEPT] == order[Phase.ISSUE] == ["cp-1", "w-1"]
    assert order[Phase.DROP] == ["w-1", "cp-1"]


def test_what_is_done_is_not_repeated() -> None:
    """Of `all`, the second one has begun only when the first one was done."""
    both = [Rotated.TALOS_CA, Rotated.KUBERNETES_CA]
    assert remaining(both, []) == both
    assert remaining(both, [Rotated.TALOS_CA]) == both
    assert remaining(both, [Rotated.KUBERNETES_CA]) == [Rotated.KUBERNETES_CA]


def test_only_the_rotated_part_changes() -> None:
    """What else differs from the inventory waits for `talops up`."""
    running: list[Any] = [
        {"version": "v1alpha1", "machine": {"ca": 1, "sysctls": {"a": "1"}}, "cluster": {"ca": 2}},
        {"kind": "KubeAPIServerCAConfig", "issuingCA": "old"},
        {"kind": "HostnameConfig", "hostname": "x"},
    ]
    wanted: list[Any] = [
        {"version": "v1alpha1", "machine": {"ca": 3, "acceptedCAs": [1]}, "cluster": {"ca": 4}},
        {"kind": "KubeAPIServerCAConfig", "issuingCA": "new"},
        {"kind": "HostnameConfig", "hostname": "y"},
    ]
    talos = transplanted(running, wanted, Rotated.TALOS_CA)
    assert talos[0]["machine"] == {"ca": 3, "acceptedCAs": [1], "sysctls": {"a": "1"}}
    assert talos[0]["cluster"] == {"ca": 2}
    assert talos[1:] == running[1:]
    back = transplanted(talos, running, Rotated.TALOS_CA)
    assert back == running
    kubernetes = transplanted(running, wanted, Rotated.KUBERNETES_CA)
    assert kubernetes[0]["cluster"] == {"ca": 4}
    assert kubernetes[1]["issuingCA"] == "new"
    assert kubernetes[0]["machine"] == running[0]["machine"]
