"""Talos and Kubernetes run in the versions of the inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.checks.after.reach import errors_of, values_of
from talops.errors import TalopsError
from talops.pipeline.checks import failed, from_error, passed
from talops.plural import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.checks.after.reach import Reach
    from talops.inventory.model import Cluster
    from talops.pipeline.checks import Finding


async def look(reach: Reach) -> list[Finding]:
    cluster = reach.site.cluster
    answers = await reach.ask(cluster.nodes, lambda talos: talos.version())
    talos = {name: version.tag for name, version in values_of(answers).items()}
    found = [from_error(error) for error in errors_of(answers).values()]
    try:
        async with reach.kube() as kube:
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
    found: list[Finding] = []
    parts = (
        ("Talos", cluster.talos_version, talos, "talops talos upgrade"),
        ("Kubernetes", cluster.kubernetes_version, kubernetes, "talops up"),
    )
    for name, wanted, running, hint in parts:
        wrong = {place: version for place, version in running.items() if version != wanted}
        found += [
            failed(f"{place} runs {name} {version}, but the inventory says {wanted}", hint=hint)
            for place, version in wrong.items()
        ]
        if running and not wrong:
            found.append(passed(f"{name} {wanted} in {count(len(running), 'place')}"))
    return found
