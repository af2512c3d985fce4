"""Read what decides whether an upgrade of Kubernetes may begin; changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from talops.errors import UnreachableError
from talops.kube.answers import NotFoundError
from talops.kube.client import KubeClient
from talops.machineconfig.kubernetes_images import STATIC_PODS, Component
from talops.talos.errors import NotFoundError as NoResourceError
from talops.upgrades.kubernetes.arguments import Arguments, of_command
from talops.upgrades.kubernetes.problems import Facts, Use, hops
from talops.upgrades.kubernetes.removed import removed_by

if TYPE_CHECKING:
    from talops.rolls.kube_access import KubeAccess
    from talops.site.fleet import Fleet
    from talops.talos.client import Talos
    from talops.upgrades.kubernetes.removed import Resource
    from talops.upgrades.kubernetes.running import NodeRunning, Running
    from talops.upgrades.kubernetes.targets import Targets

# Both as Talos renders them (pkg/machinery/resources/k8s: StaticPod, KubeletSpec).
_PODS = ("k8s", "StaticPods.kubernetes.talos.dev")
_KUBELET = ("k8s", "KubeletSpecs.kubernetes.talos.dev", "kubelet")
_METRIC = re.compile(r"apiserver_requested_deprecated_apis\{([^}]*)\} [1-9]")
_MINOR = re.compile(r"[0-9]{1,4}")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_API_PORT = 6443


async def facts_for(running: Running, targets: Targets, fleet: Fleet, access: KubeAccess) -> Facts:
    minors = hops(running, targets.version)
    resources = [resource for minor in minors for resource in removed_by(minor).resources]
    read, stored, uses = await asyncio.gather(
        asyncio.gather(*(_node(fleet, seen) for seen in running.nodes)),
        stored_objects(access, resources),
        _uses(access, running),
    )
    return Facts(
        running,
        targets,
        {seen.node.name: version for seen, (version, _) in zip(running.nodes, read, strict=True)},
        {
            (seen.node.name, component): arguments
            for seen, (_, commands) in zip(running.nodes, read, strict=True)
            for component, arguments in commands.items()
        },
        stored,
        uses,
    )


async def _node(fleet: Fleet, seen: NodeRunning) -> tuple[str, dict[Component, Arguments]]:
    wanted = (*(STATIC_PODS if seen.node.controller else ()), Component.KUBELET)
    async with fleet.talos(seen.node) as talos:
        version = (await talos.version()).tag
        found = {component: await _arguments(talos, component) for component in wanted}
    return version, found


async def _arguments(talos: Talos, component: Component) -> Arguments:
    """None as long as the node does not run it yet."""
    key = _KUBELET if component is Component.KUBELET else (*_PODS, component)
    try:
        spec = (await talos.resources.get(*key)).spec
    except NoResourceError:
        return Arguments()
    if component is not Component.KUBELET:
        return of_command(spec["spec"]["containers"][0].get("command") or ())
    gates = (spec.get("config") or {}).get("featureGates") or ()
    return of_command(spec.get("args") or ()) | Arguments(gates=frozenset(gates))


async def stored_objects(access: KubeAccess, resources: list[Resource]) -> dict[Resource, int]:
    """How many objects are read in a version that is not served any more."""
    found = {}
    async with access.open() as kube:
        for resource in resources:
            try:
                page = await kube.get_json(f"{resource.path}?limit=1")
            except NotFoundError:  # this server does not serve it
                continue
            more = int((page.get("metadata") or {}).get("remainingItemCount") or 0)
            found[resource] = len(page.get("items") or ()) + more
    return found


async def _uses(access: KubeAccess, running: Running) -> frozenset[Use]:
    """Each API server counts its own requests, since its start: one that is down counts none."""
    config = await access.config()
    found: set[Use] = set()
    for seen in running.planes:
        if Component.API_SERVER in seen.pods:
            server = f"https://{seen.node.address}:{_API_PORT}"
            with contextlib.suppress(UnreachableError):  # it restarts, or an upgrade stopped here
                async with KubeClient(replace(config, server=server)) as kube:
                    found |= read_uses(await kube.get_text("/metrics"))
    return frozenset(found)


def read_uses(metrics: str) -> set[Use]:
    """`apiserver_requested_deprecated_apis` of Kubernetes, with the release that removes each."""
    found = set()
    for line in metrics.splitlines():
        if match := _METRIC.match(line):
            labels = dict(_LABEL.findall(match[1]))
            major, _, minor = labels.get("removed_release", "").partition(".")
            if major == "1" and _MINOR.fullmatch(minor):
                group = "/".join(filter(None, (labels.get("group"), labels.get("version"))))
                found.add(Use(f"{labels.get('resource')} of {group}", int(minor)))
    return found
