"""Compare wanted objects with the cluster: what differs, what Flux manages, what to release."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.approval import Impact
from talops.errors import TalopsError
from talops.gitops.ownership import kept_by_flux, released, still_claimed
from talops.kube import kubeconfig_file
from talops.kube.client import KubeClient
from talops.kube.conditions import condition, ready
from talops.kube.kubeconfig import load
from talops.kube.objects import Object, Ref
from talops.kube.waits import apply_all, wait_ready
from talops.pipeline.stage import Change
from talops.waiting import NotYet, Ready

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.stage import Reporter
    from talops.site.site import Site

# Kinds that become ready over time; all others are done when they are accepted.
WAITED = {
    "APIService",
    "CustomResourceDefinition",
    "DaemonSet",
    "Deployment",
    "FluxInstance",
    "StatefulSet",
}


@dataclass(frozen=True)
class ObjectChange(Change):
    """`gentle`: creates missing objects only, changes no running one."""

    gentle: bool = False
    objects: tuple[Object, ...] = field(default=(), repr=False, compare=False)

    @property
    def impact(self) -> Impact:
        return Impact.CREATES if self.gentle else Impact.CHANGES


@dataclass(frozen=True)
class ObjectDifferences:
    """Apply `differing`; `to_release` belong to Flux and still list talops as a manager."""

    differing: tuple[Object, ...] = ()
    to_release: tuple[Ref, ...] = ()
    # How many of `differing` do not exist.
    missing: int = 0

    @property
    def done(self) -> bool:
        return not self.differing and not self.to_release

    @property
    def gentle(self) -> bool:
        return self.missing == len(self.differing)


def client(site: Site) -> KubeClient | None:
    """None if there is no kubeconfig of this cluster yet."""
    if kubeconfig_file.entry(site.kubeconfig, site.cluster.name) is None:
        return None
    config = load(site.kubeconfig, site.cluster.name)
    return KubeClient(config) if config else None


def connected(site: Site) -> KubeClient:
    found = client(site)
    if found is None:
        raise TalopsError(
            "the kubeconfig does not exist any more",
            where=str(site.kubeconfig),
            hint="talops up --only kubeconfig",
        )
    return found


async def look(kube: KubeClient, wanted: Sequence[Object]) -> ObjectDifferences:
    differing: list[Object] = []
    to_release: list[Ref] = []
    missing = 0
    for obj in wanted:
        live = await kube.get(Ref.of(obj))
        if live is not None and kept_by_flux(live):
            if still_claimed(live):
                to_release.append(Ref.of(obj))
        elif await kube.would_change(obj, live):
            differing.append(obj)
            missing += live is None
    return ObjectDifferences(tuple(differing), tuple(to_release), missing)


async def bring(kube: KubeClient, wanted: Sequence[Object], site: Site, report: Reporter) -> None:
    """Apply what differs and release what Flux manages; nothing else is touched."""
    seen = await look(kube, wanted)
    await apply_all(kube, seen.differing, timeout=site.limits.kubernetes, report=report.waiting)
    for ref in seen.to_release:
        live = await kube.get(ref)
        if live is not None and still_claimed(live):
            await kube.merge(ref, released(live))


def _reconciled(obj: Object | None) -> Ready[Object] | NotYet:
    """A custom object without a condition has not been reconciled yet, so it is not ready."""
    found = ready(obj)
    if isinstance(found, Ready) and (why := condition(found.value, "Ready")):
        return NotYet(why)
    return found


async def wait_until_ready(
    kube: KubeClient, wanted: Sequence[Object], site: Site, report: Reporter
) -> None:
    for obj in wanted:
        if obj["kind"] in WAITED:
            await wait_ready(
                kube,
                Ref.of(obj),
                timeout=site.limits.kubernetes,
                interval=site.limits.interval,
                judge=_reconciled if obj["kind"] == "FluxInstance" else ready,
                report=report.waiting,
            )
