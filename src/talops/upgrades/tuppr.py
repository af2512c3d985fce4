"""tuppr upgrades the cluster: what its objects upgrade is left to it, or they are rendered.

The fields are those of api/v1alpha1 of tuppr 0.4: talosupgrade_types.go, kubernetesupgrade_types.go
and shared_types.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.inventory.operating import DAYS
from talops.kube import tuppr
from talops.upgrades.path import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.inventory.model import Cluster
    from talops.inventory.operating import Window
    from talops.kube.objects import Object
    from talops.rolls.kube_access import KubeAccess

NAMES = {Part.TALOS: "talos", Part.KUBERNETES: "kubernetes"}
LABELS = {"app.kubernetes.io/managed-by": "talops"}
_DAY_MINUTES = 24 * 60


async def managed(access: KubeAccess) -> frozenset[Part]:
    async with access.open() as kube:
        return frozenset(Part(name) for name in await tuppr.managed(kube))


def objects(cluster: Cluster) -> dict[Part, Object]:
    """The wanted versions, with the windows and the gates that tuppr can ask."""
    shared = {**_health_checks(cluster), **_maintenance(cluster)}
    specs: dict[Part, dict[str, Any]] = {
        Part.TALOS: {
            "talos": {"version": cluster.talos_version},
            # Without it, a fast reboot leaves volumes attached to the old boot.
            "policy": {"waitForVolumeDetach": True},
        },
        Part.KUBERNETES: {"kubernetes": {"version": cluster.kubernetes_version}},
    }
    return {
        part: {
            "apiVersion": tuppr.VERSION,
            "kind": tuppr.KINDS[part],
            "metadata": {"name": NAMES[part], "labels": dict(LABELS)},
            "spec": {**spec, **shared},
        }
        for part, spec in specs.items()
    }


def unrendered(cluster: Cluster) -> list[str]:
    """Names of gates that tuppr cannot ask: it knows expressions only."""
    return [gate.name for gate in cluster.gates if not gate.expression]


def _health_checks(cluster: Cluster) -> dict[str, Any]:
    found = []
    for gate in cluster.gates:
        if gate.expression and gate.object:
            wanted = gate.object
            place = {"name": wanted.name, "namespace": wanted.namespace}
            found.append(
                {
                    "apiVersion": wanted.api_version,
                    "kind": wanted.kind,
                    **{key: value for key, value in place.items() if value},
                    "expr": gate.expression,
                    "timeout": f"{gate.timeout}s",
                    "description": gate.name,
                }
            )
    return {"healthChecks": found} if found else {}


def _maintenance(cluster: Cluster) -> dict[str, Any]:
    if cluster.maintenance is None:
        return {}
    zone = cluster.maintenance.time_zone
    windows = [
        {"start": _cron(window), "duration": _length(window), "timezone": zone}
        for window in cluster.maintenance.windows
    ]
    return {"maintenance": {"windows": windows}}


def _cron(window: Window) -> str:
    """Minute, hour, day of month, month, days of the week from Sunday, which is 0."""
    hour, minute = _numbers(window.start)
    days = ",".join(str((DAYS.index(day) + 1) % len(DAYS)) for day in window.days or ())
    return f"{minute} {hour} * * {days or '*'}"


def _length(window: Window) -> str:
    start, end = (60 * h + m for h, m in (_numbers(window.start), _numbers(window.end)))
    hours, minutes = divmod((end - start) % _DAY_MINUTES or _DAY_MINUTES, 60)
    return "".join(f"{n}{unit}" for n, unit in ((hours, "h"), (minutes, "m")) if n)


def _numbers(time: str) -> Iterator[int]:
    return map(int, time.split(":"))
