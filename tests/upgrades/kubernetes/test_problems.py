"""What forbids an upgrade of Kubernetes: facts in, sentences out.

What releases remove: siderolabs/go-kubernetes, kubernetes/upgrade/checks.go at 0caf1f2; a kubelet
that is given a removed flag does not start (kubernetes/kubernetes#139870).
"""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Any

import pytest

from talops.inventory.model import Image, Node
from talops.machineconfig.generate import MachineConfig
from talops.machineconfig.kubernetes_images import STATIC_PODS, Component
from talops.machineconfig.request import Patch
from talops.upgrades.kubernetes.arguments import Arguments, of_command, of_config, origin
from talops.upgrades.kubernetes.mark import marked
from talops.upgrades.kubernetes.problems import Facts, Use, problems, warnings
from talops.upgrades.kubernetes.reading import read_uses
from talops.upgrades.kubernetes.removed import REMOVED, removed_by
from talops.upgrades.kubernetes.running import NodeRunning, Running
from talops.upgrades.kubernetes.targets import Targets

API_SERVER, KUBELET = Component.API_SERVER, Component.KUBELET


def node(name: str) -> Node:
    plane = name.startswith("cp")
    image = Image("s", False, "metal", "lab")
    return Node(
        name, IPv4Address("10.0.0.1"), plane, "", "/dev/sda", image, None, None, False,
        (), (), {}, (), (), None, 0,
    )  # fmt: skip


def documents(version: str, *, plane: bool, kubelet: Any = None, api: Any = None) -> list[Any]:
    machine = {"kubelet": {"image": f"ghcr.io/siderolabs/kubelet:{version}"} | (kubelet or {})}
    keys = ("apiServer", "controllerManager", "scheduler")
    cluster = {
        key: {"image": f"registry.k8s.io/{c}:{version}"}
        for key, c in zip(keys, STATIC_PODS, strict=True)
    }
    cluster["apiServer"] |= api or {}
    return [{"version": "v1alpha1", "machine": machine} | ({"cluster": cluster} if plane else {})]


def facts(
    before: str = "v1.36.3",
    to: str = "v1.37.1",
    *,
    now: dict[str, Any] | None = None,
    wanted: dict[str, Any] | None = None,
    patches: tuple[Patch, ...] = (),
    **more: Any,
) -> Facts:
    """A control plane and a worker; `now` and `wanted` add to both of their configs."""
    nodes, configs = [], {}
    for name in ("cp-1", "w-1"):
        plane = name == "cp-1"
        running = documents(before, plane=plane, **(now or {}))
        pods = dict.fromkeys(STATIC_PODS, before) if plane else {}
        nodes.append(NodeRunning(node(name), name, tuple(running), pods, before))
        rendered = documents(to, plane=plane, **(wanted or {}))
        configs[name] = MachineConfig(name, plane, tuple(rendered))
    target = Targets(to, configs, {"cp-1": patches, "w-1": patches})
    return Facts(Running(tuple(nodes)), target, **more)


def test_an_upgrade_without_problems() -> None:
    """To the next minor, to another patch, and to what runs already."""
    for to in ("v1.37.1", "v1.36.4", "v1.36.3"):
        assert problems(facts(to=to, talos={"cp-1": "v1.14.1", "w-1": "v1.14.1"})) == []


@pytest.mark.parametrize(
    ("before", "to", "says"),
    [
        ("v1.35.4", "v1.37.1", "one minor version at a time"),
        ("v1.37.1", "v1.36.3", "set kubernetes_version: v1.37.1"),
        ("v1.36.3", "v1.36.1", "set kubernetes_version: v1.36.3"),
    ],
)
def test_ways_that_do_not_exist(before: str, to: str, says: str) -> None:
    """Not over a minor, and never back."""
    (found,) = problems(facts(before, to))
    assert says in found


def test_a_talos_that_does_not_support_it() -> None:
    """Each node is judged by the Talos that it runs."""
    found = problems(facts(talos={"cp-1": "v1.14.1", "w-1": "v1.13.9"}))
    assert found == ["w-1: Talos v1.13.9 does not support Kubernetes v1.37.1: upgrade Talos"]


def test_a_removed_flag_of_a_patch() -> None:
    """Named once for all nodes, with the patch that contains it."""
    kubelet = {"extraArgs": {"containerd": "/run/containerd.sock"}}
    patch = Patch(({"machine": {"kubelet": kubelet}},), "patches/kubelet.yaml")
    both = {"kubelet": kubelet}
    (in_patch,) = problems(facts(now=both, wanted=both, patches=(patch,)))
    assert in_patch == (
        "cp-1, w-1: Kubernetes 1.37 does not know the flag containerd of kubelet: remove it from "
        "patches/kubelet.yaml, then: talops up --only apply-config"
    )
    (running,) = problems(facts(now=both))
    assert running == (
        "cp-1, w-1: Kubernetes 1.37 does not know the flag containerd of kubelet, which still "
        "runs with it: talops up --only apply-config"
    )
    assert problems(facts("v1.35.9", "v1.36.3", now=both, wanted=both)) == []


def test_what_runs_without_a_patch() -> None:
    """Arguments of the static pods and kubelets themselves."""
    commands = {("cp-1", API_SERVER): Arguments(gates=frozenset({"GangScheduling"}))}
    (found,) = problems(facts(commands=commands))
    assert found.startswith("cp-1: Kubernetes 1.37 does not know the feature gate GangScheduling")


def test_images_that_stay_behind() -> None:
    """A patch with an image of its own would leave the component in another version."""
    pin = {"image": "mirror/kubelet:v1.36.3@sha256:aa"}
    patch = Patch(({"machine": {"kubelet": pin}},), "patches/pin.yaml")
    (found,) = problems(facts(wanted={"kubelet": pin}, patches=(patch,)))
    assert found == (
        "cp-1, w-1: patches/pin.yaml pins kubelet to mirror/kubelet:v1.36.3@sha256:aa: "
        "write the digest of v1.37.1"
    )
    other = {"image": "mirror/kubelet:v1.37.1@sha256:bb"}
    assert problems(facts(wanted={"kubelet": other})) == []


def test_objects_that_nothing_serves_any_more() -> None:
    """Counted beforehand, with the API that they are stored in."""
    workloads = removed_by(37).resources[0]
    assert problems(facts(stored={workloads: 0})) == []
    (found,) = problems(facts(stored={workloads: 2}))
    assert found == (
        "Kubernetes 1.37 does not serve workloads of scheduling.k8s.io/v1alpha2: migrate or "
        "delete its 2 objects"
    )
    assert workloads.path == "/apis/scheduling.k8s.io/v1alpha2/workloads"


METRICS = """\
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="flowcontrol.apiserver.k8s.io",removed_release="1.37",\
resource="flowschemas",subresource="",version="v1beta3"} 1
apiserver_requested_deprecated_apis{group="",removed_release="",resource="componentstatuses",\
subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="x",removed_release="1.40",resource="y",\
subresource="",version="v1"} 1
apiserver_request_total{code="200"} 7
"""


def test_apis_that_clients_still_request() -> None:
    """Lines as kube-apiserver writes them (k8s.io/apiserver/pkg/endpoints/metrics)."""
    uses = read_uses(METRICS)
    served = "flowschemas of flowcontrol.apiserver.k8s.io/v1beta3"
    assert uses == {Use(served, 37), Use("y of x/v1", 40)}
    assert warnings(facts(uses=frozenset(uses))) == [
        f"{served} is requested by a client, and Kubernetes 1.37 does not serve it any more"
    ]
    assert problems(facts(uses=frozenset(uses))) == []


def test_an_interrupted_upgrade_is_seen() -> None:
    """Versions of configs count, and the mark counts where no version differs any more."""
    seen = NodeRunning(node("w-1"), "w-1", tuple(documents("v1.37.1", plane=False)), {}, "v1.36.3")
    assert (Running((seen,)).low, Running((seen,)).high) == ("v1.36.3", "v1.37.1")
    done = NodeRunning(node("w-1"), "w-1", tuple(documents("v1.37.1", plane=False)), {}, "v1.37.1")
    assert Running((done,)).low == "v1.37.1"
    assert Running((done,), marked({"data": {"from": "v1.36.3"}})).low == "v1.36.3"
    assert marked(None) == ""


def test_arguments_in_every_form() -> None:
    """Commands, both shapes of configs, lists since Talos 1.13, and gates of a kubelet's config."""
    words = ["/usr/bin/x", "--feature-gates=A=true,B=false", "--enable-admission-plugins=P,Q", "-v"]
    found = of_command([*words, "--cloud-config="])
    assert found.gates == {"A", "B"}
    assert found.plugins == {"P", "Q"}
    assert "cloud-config" in found.flags
    document = {"kind": "KubeAPIServerConfig", "extraArgs": {"feature-gates": ["A=true", "C=1"]}}
    assert of_config([document], API_SERVER).gates == {"A", "C"}
    extra = {"machine": {"kubelet": {"extraConfig": {"featureGates": {"K": True}}}}}
    assert of_config([extra], KUBELET).gates == {"K"}
    newer = {"kind": "KubeletConfig", "config": {"featureGates": {"K": True}}}
    assert of_config([newer], KUBELET).gates == {"K"}


def test_plugins_are_those_of_the_api_server() -> None:
    """The same word elsewhere means something else."""
    given = Arguments(plugins=frozenset({"SecurityContextDeny"}))
    assert given.in_vain(API_SERVER, removed_by(30)) == [
        ("admission plugin", "SecurityContextDeny")
    ]
    assert given.in_vain(Component.SCHEDULER, removed_by(30)) == []


def test_the_origin_is_where_the_name_is_written() -> None:
    """As a key, as a value, or as one of several in a value; never as a part of a word."""
    args = {"extraArgs": {"feature-gates": "One=true,Two=false", "cloud-config": "/x"}}
    patch = Patch(({"cluster": {"apiServer": args}},), "a.yaml")
    for name in ("One", "Two", "cloud-config", "/x"):
        assert origin((patch,), name) == "a.yaml"
    assert origin((patch,), "On") == ""


def test_the_table_is_complete() -> None:
    """As many names as the source lists for each release that an upgrade can enter."""
    counted = {
        minor: len(r.gates) + len(r.plugins) + len(r.resources) + sum(map(len, r.flags.values()))
        for minor, r in REMOVED.items()
    }
    assert counted == {
        27: 16, 28: 12, 29: 1, 30: 9, 31: 13, 32: 16, 33: 11, 34: 4, 35: 3, 36: 4, 37: 25,
    }  # fmt: skip
