"""Faults during an upgrade of Kubernetes and during a change of configs: where each stops it."""

from __future__ import annotations

from dataclasses import replace

from tests.rolls.faults.cases_talos import CANNOT_RETURN, CONSOLE, PLANES, WORKERS
from tests.rolls.faults.changes import CONFIGS, KUBERNETES
from tests.rolls.faults.strikes import etcd_lost, held_pods, on, other_plane_off, power_cut
from tests.rolls.faults.world import Case, quick

from talops.machineconfig.kubernetes_images import Component
from talops.rolls.turn import Step

AFTER_API = "checking gates after kube-apiserver on"
UPGRADED = [
    Case(
        "an image of Kubernetes is missing on one node",
        on("w-2", image_missing="kubelet"),
        r"images of Kubernetes .* cannot be pulled, nothing was changed: w-2: .*not found",
        hint="make the images available to these nodes, then: talops up",
    ),
    Case(
        "the disk of one node is full before an upgrade of Kubernetes",
        on("w-2", disk_full=True),
        "cannot be pulled, nothing was changed: w-2: .*no space left on device",
        hint="make the images available to these nodes, then: talops up",
    ),
    Case(
        "an etcd member is lost before an upgrade of Kubernetes",
        etcd_lost("cp-3"),
        r"etcd: not healthy: cp-3 \(",
        limits=quick(kubernetes=8.0),
        planes=True,
    ),
    Case(
        "the new API server does not start",
        on("first", apiserver_lost=True),
        "timed out .* waiting for kube-apiserver on FIRST; last reason: ",
        stops="kube-apiserver v.* on",
        at=Component.API_SERVER,
        hint="talops talos logs kubelet --nodes .*; then: talops up",
        limits=quick(kubernetes=10.0),
    ),
    Case(
        "the power of the control plane is cut",
        power_cut("first"),
        "timed out .* waiting for ",
        stops="kube-apiserver v.* on",
        at=Component.API_SERVER,
        hint="talops talos .* --nodes .*",
        limits=quick(kubernetes=10.0),
        planes=True,
    ),
    Case(
        "its disk is full when its config changes",
        on("first", disk_full=True),
        "no space left on device",
        stops="kube-apiserver v.* on",
        at=Component.API_SERVER,
        limits=quick(kubernetes=10.0),
    ),
    Case(
        "an etcd member is lost after the first API server",
        etcd_lost("other"),
        r"etcd: not healthy: cp-\d \(",
        stops=AFTER_API,
        at=Component.API_SERVER,
        limits=quick(kubernetes=15.0),
        planes=True,
    ),
    Case(
        "the power of a worker is cut after the first API server",
        power_cut("w-2"),
        r"nodes: not Ready: .*w-2 \(",
        stops=AFTER_API,
        at=Component.API_SERVER,
        limits=quick(kubernetes=15.0),
    ),
]
CONFIGURED = [
    Case(
        "a worker with a new config never returns",
        on(*WORKERS, hangs=True),
        CANNOT_RETURN,
        stops=Step.RETURN,
        hint=CONSOLE,
        limits=quick(install=5.0),
        cordoned=True,
        restarted=True,
    ),
    Case(
        "a budget forbids the eviction before a new config",
        held_pods,
        "not drained within 2 s: .*Pod default/held-FIRST.*disruption budget",
        stops=Step.DRAIN,
        hint="kubectl get poddisruptionbudgets -n default",
        limits=quick(),
        cordoned=True,
    ),
    Case(
        "the disk is full when the config is stored",
        on("first", disk_full=True),
        "no space left on device",
        stops=Step.ACT,
        at=Step.ACT,
        hint="talops talos dmesg --nodes",
        limits=quick(install=6.0),
        cordoned=True,
    ),
    Case(
        "the power of another worker is cut while one gets its config",
        power_cut("w-2"),
        r"nodes: not Ready: .*w-2 \(",
        stops=Step.AFTER,
        at=Step.RETURN,
        limits=quick(kubernetes=8.0),
        restarted=True,
    ),
    Case(
        "an etcd member is lost while a control plane gets its config",
        etcd_lost("other"),
        r"etcd: not healthy: cp-\d \(",
        stops=Step.GATES,
        at=Step.CORDON,
        nodes=PLANES,
        limits=quick(kubernetes=8.0),
        cordoned=True,
        planes=True,
    ),
    Case(
        "the power of another control plane is cut while one gets its config",
        other_plane_off(),
        CANNOT_RETURN,
        stops=Step.RETURN,
        at=Step.RETURN,
        nodes=PLANES,
        hint=CONSOLE,
        limits=quick(install=10.0),
        cordoned=True,
        restarted=True,
        planes=True,
    ),
]
PARTS = {
    "kubernetes": [replace(case, kind=KUBERNETES) for case in UPGRADED],
    "configs": [replace(case, kind=CONFIGS) for case in CONFIGURED],
}
