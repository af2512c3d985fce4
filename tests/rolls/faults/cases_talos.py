"""Faults during an upgrade of Talos: where each has to stop it."""

from __future__ import annotations

from dataclasses import replace

from tests.rolls.faults.strikes import (
    api_lost,
    etcd_lost,
    held_pods,
    network_lost,
    on,
    other_plane_off,
    power_cut,
)
from tests.rolls.faults.world import Case, quick

from talops.rolls.turn import Step
from talops.talos.calls.upgrade import EXITS

PLANES = ("cp-1", "cp-2", "cp-3")
WORKERS = ("w-1", "w-2")
CONSOLE = r"check the console of FIRST, or: talops talos dmesg --nodes [0-9.]+; then: talops up"
CANNOT_RETURN = "timed out .* waiting for FIRST to be ready again; last reason: "
PREPARE, RETURN, AFTER, GATES = (Step.PREPARE, Step.RETURN, Step.AFTER, Step.GATES)
NODE_GATE = r"nodes: not Ready: .*w-2 \("

# Exit codes of the installer since 1.14 (Talos: pkg/machinery/constants).
INSTALLER = [
    Case(
        f"the installer ends with {code}",
        on(*WORKERS, install_exit=code),
        rf"the installer of .* failed: exit code {code} ?\({EXITS[code]}\)?"
        if code in EXITS
        else rf"the installer of .* failed: exit code {code};",
        stops=PREPARE,
        hint="FIRST still runs Talos .*talops talos dmesg --nodes .*talops up",
    )
    for code in range(1, 8)
]

NODE = [
    Case(
        "a worker never returns",
        on(*WORKERS, hangs=True),
        CANNOT_RETURN,
        stops=RETURN,
        hint=CONSOLE,
        limits=quick(install=5.0),
        cordoned=True,
        restarted=True,
    ),
    Case(
        "a control plane never returns",
        on("first", hangs=True),
        CANNOT_RETURN,
        stops=RETURN,
        at=Step.ACT,
        nodes=PLANES,
        planes=True,
        hint=CONSOLE,
        limits=quick(install=5.0),
        cordoned=True,
        restarted=True,
    ),
    Case(
        "the new system does not start",
        on(*WORKERS, boot_fails=True),
        "FIRST runs Talos v1.14.1 again: the new system did not start",
        stops=RETURN,
        hint="talops rollback",
        cordoned=True,
        restarted=True,
    ),
    Case(
        "its kubelet does not become ready",
        on("first", never_ready=True),
        f"{CANNOT_RETURN}.*not ready",
        stops=RETURN,
        at=Step.ACT,
        hint=CONSOLE,
        limits=quick(install=6.0),
        cordoned=True,
        restarted=True,
    ),
    Case(
        "its network is lost",
        network_lost("first"),
        CANNOT_RETURN,
        stops=RETURN,
        at=Step.RETURN,
        hint=CONSOLE,
        limits=quick(install=6.0),
        cordoned=True,
        restarted=True,
    ),
    Case(
        "an image is missing on one node",
        on("w-2", image_missing="."),
        r"the installer image cannot be pulled on w-2: .*not found",
        hint="no node was changed; .*talops up",
    ),
    Case(
        "the disk of one node is full",
        on("w-2", disk_full=True),
        r"the installer image cannot be pulled on w-2: .*no space left on device",
        hint="no node was changed; .*talops up",
    ),
    Case(
        "its disk is full when it installs",
        on("first", disk_full=True),
        "no space left on device",
        stops=PREPARE,
        at=PREPARE,
    ),
    Case(
        "a budget forbids every eviction",
        held_pods,
        "not drained within 2 s: .*Pod default/held-FIRST.*disruption budget",
        stops=Step.DRAIN,
        hint="kubectl get poddisruptionbudgets -n default",
        limits=quick(),
        cordoned=True,
    ),
]

OTHERS = [
    Case(
        f"{what} of another worker before {at} it",
        strike,
        NODE_GATE,
        stops=stops,
        at=at,
        limits=quick(kubernetes=8.0),
        cordoned=stops == GATES and at != GATES,
        restarted=stops == AFTER,
    )
    for what, strike in (("a power cut", power_cut("w-2")), ("a lost network", network_lost("w-2")))
    for at, stops in (
        (Step.GATES, GATES),
        (Step.CORDON, GATES),
        (Step.DETACH, GATES),
        (Step.ACT, AFTER),
        (Step.UNCORDON, AFTER),
    )
]

ETCD = [
    Case(
        "an etcd member is lost before the first control plane",
        etcd_lost("cp-3"),
        r"etcd: not healthy: cp-3 \(",
        stops=GATES,
        nodes=("cp-1", "cp-2"),
        limits=quick(kubernetes=8.0),
    ),
    Case(
        "an etcd member is lost while the pods of a control plane are moved",
        etcd_lost("other"),
        r"etcd: not healthy: cp-\d \(",
        stops=GATES,
        at=Step.DRAIN,
        nodes=PLANES,
        limits=quick(kubernetes=8.0),
        cordoned=True,
    ),
    Case(
        "an etcd member is lost while a worker is away",
        etcd_lost("cp-2"),
        r"etcd: not healthy: cp-2 \(",
        stops=AFTER,
        at=Step.ACT,
        limits=quick(kubernetes=8.0),
        restarted=True,
    ),
    Case(
        "the power of another control plane is cut before the restart",
        other_plane_off(),
        r"etcd to tolerate the absence of FIRST; last reason: etcd would also be without cp-\d",
        stops=Step.ETCD,
        at=Step.FORFEIT,
        nodes=PLANES,
        limits=quick(etcd=6.0),
        cordoned=True,
    ),
    Case(
        "the power of another control plane is cut while the first is away",
        other_plane_off(),
        CANNOT_RETURN,
        stops=RETURN,
        at=Step.RETURN,
        nodes=PLANES,
        hint=CONSOLE,
        limits=quick(install=10.0),
        cordoned=True,
        restarted=True,
    ),
    Case(
        "a host with a control plane and a worker is offline",
        power_cut("cp-3", "w-2"),
        r"etcd: not healthy: cp-3 \(.*nodes: not Ready: .*w-2 \(",
        stops=GATES,
        at=Step.GATES,
        limits=quick(kubernetes=8.0),
    ),
    Case(
        "no API server answers before the first node",
        api_lost(),
        r"nodes: .*(refused|answer|reset|timed out)",
        stops=GATES,
        at=Step.GATES,
        limits=quick(kubernetes=8.0),
    ),
    Case(
        "no API server answers while pods are moved",
        api_lost(),
        r"(refused|answer|reset|timed out)",
        stops=Step.DRAIN,
        at=Step.DRAIN,
        limits=quick(kubernetes=8.0),
        cordoned=True,
    ),
    Case(
        "no API server answers when the node returns",
        api_lost(),
        f"{CANNOT_RETURN}.*",
        stops=RETURN,
        at=Step.RETURN,
        hint="talops up",
        limits=quick(install=10.0),
        cordoned=True,
        restarted=True,
    ),
]

PARTS = {
    "installer": INSTALLER,
    "node": NODE,
    "others": OTHERS,
    "etcd": [replace(case, planes=True) for case in ETCD],
}
