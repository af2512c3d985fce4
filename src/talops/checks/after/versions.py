"""Talos and Kubernetes run in the versions of the inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.machineconfig.kubernetes_images import numbers
from talops.pipeline.checks import failed, from_error, passed, warning
from talops.plural import count
from talops.site.connections import errors_of, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    except TalopsError as error:
        return [*found, *judge(cluster, talos, {}), from_error(error)]
    kubernetes = {"the API server": server}
    kubernetes |= {f"the kubelet of {n['metadata']['name']}": _kubelet(n) for n in nodes}
    return found + judge(cluster, talos, kubernetes)


def _kubelet(node: dict[str, object]) -> str:
    status = node.get("status")
    info = status.get("nodeInfo") if isinstance(status, dict) else None
    return str((info or {}).get("kubeletVersion", "unknown"))


def judge(
    cluster: Cluster, talos: Mapping[str, str], kubernetes: Mapping[str, str]
) -> list[Finding]:
    return [
        *_judge("Talos", cluster.talos_version, talos, "talops up"),
        *_judge("Kubernetes", cluster.kubernetes_version, kubernetes, "talops up"),
    ]


def _judge(name: str, wanted: str, running: Mapping[str, str], hint: str) -> list[Finding]:
    wrong = {place: version for place, version in running.items() if version != wanted}
    if running and not wrong:
        return [passed(f"{name} {wanted} in {count(len(running), 'place')}")]
    return [_wrong(name, wanted, place, version, hint) for place, version in wrong.items()]


def _wrong(name: str, wanted: str, place: str, version: str, hint: str) -> Finding:
    what = f"{place} runs {name} {version}, but the inventory says {wanted}"
    if name == "Kubernetes" and numbers(version) > numbers(wanted):
        # Raised by another program: never lowered, so that waiting for it is useless.
        return warning(what, hint=f"set kubernetes_version: {version} in cluster.yaml")
    # No wait installs another Talos; components of Kubernetes may just be restarting.
    return failed(what, hint=hint, final=name == "Talos")
