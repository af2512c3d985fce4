"""Talos and Kubernetes run in the versions of the inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.kube.tuppr import managed, progress_of
from talops.machineconfig.kubernetes_images import numbers
from talops.pipeline.checks import failed, from_error, passed, warning
from talops.plural import count
from talops.site.connections import errors_of, values_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from talops.inventory.model import Cluster
    from talops.pipeline.checks import Finding
    from talops.site.connections import Connections


async def look(connections: Connections) -> list[Finding]:
    cluster = connections.site.cluster
    answers = await connections.ask(cluster.nodes, lambda talos: talos.version())
    talos = {name: version.tag for name, version in values_of(answers).items()}
    found = [from_error(error) for error in errors_of(answers).values()]
    try:
        async with connections.kube() as kube:
            server = await kube.version()
            nodes = await kube.list_all("v1", "Node")
            kubernetes = {"the API server": server}
            kubernetes |= {f"the kubelet of {n['metadata']['name']}": _kubelet(n) for n in nodes}
            differ = {*talos.values()} - {cluster.talos_version}
            differ |= {*kubernetes.values()} - {cluster.kubernetes_version}
            left = await managed(kube) if differ else frozenset[str]()
    except TalopsError as error:
        return [*found, *judge(cluster, talos, {}), from_error(error)]
    return found + judge(cluster, talos, kubernetes, left)


def _kubelet(node: dict[str, object]) -> str:
    status = node.get("status")
    info = status.get("nodeInfo") if isinstance(status, dict) else None
    return str((info or {}).get("kubeletVersion", "unknown"))


def judge(
    cluster: Cluster,
    talos: Mapping[str, str],
    kubernetes: Mapping[str, str],
    left: Collection[str] = (),
) -> list[Finding]:
    """`left`: what tuppr upgrades, at its own times."""
    return [
        *_judge("Talos", cluster.talos_version, talos, left),
        *_judge("Kubernetes", cluster.kubernetes_version, kubernetes, left),
    ]


def _judge(
    name: str, wanted: str, running: Mapping[str, str], left: Collection[str]
) -> list[Finding]:
    wrong = {place: version for place, version in running.items() if version != wanted}
    if running and not wrong:
        return [passed(f"{name} {wanted} in {count(len(running), 'place')}")]
    return [
        _wrong(name, wanted, place, version, by_tuppr=name in left)
        for place, version in wrong.items()
    ]


def _wrong(name: str, wanted: str, place: str, version: str, *, by_tuppr: bool) -> Finding:
    what = f"{place} runs {name} {version}, but the inventory says {wanted}"
    if by_tuppr:
        return warning(f"{what}; tuppr upgrades it", hint=progress_of(name))
    if name == "Kubernetes" and numbers(version) > numbers(wanted):
        # Raised by another program: never lowered, so that waiting for it is useless.
        return warning(what, hint=f"set kubernetes_version: {version} in cluster.yaml")
    # No wait installs another Talos; components of Kubernetes may just be restarting.
    return failed(what, hint="talops up", final=name == "Talos")
