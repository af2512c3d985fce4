"""How far Flux has followed the repository, and the waits for it."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.gitops import flux
from talops.kube.conditions import condition, ready
from talops.kube.objects import Object, Ref
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from talops.kube.client import KubeClient
    from talops.pipeline.stage import Reporter
    from talops.redaction import Secret
    from talops.site.site import Site

    Probe = Callable[[], Awaitable[Ready[None] | NotYet]]

REQUESTED = "reconcile.fluxcd.io/requestedAt"
GIT, SYNC = (
    Ref(flux.SOURCES, "GitRepository", flux.NAME, flux.NAMESPACE),
    Ref(flux.KUSTOMIZE, "Kustomization", flux.NAME, flux.NAMESPACE),
)


async def is_behind(kube: KubeClient, commit: str) -> bool:
    """Flux has fetched another commit than this one."""
    fetched = revision_of(await kube.get(GIT) or {})
    return bool(fetched) and commit not in fetched


async def has_applied(kube: KubeClient, commit: str) -> bool:
    status = ((await kube.get(SYNC)) or {}).get("status") or {}
    return commit in str(status.get("lastAppliedRevision") or "")


async def request(kube: KubeClient, target: Ref) -> str:
    """Ask Flux to reconcile now; returns the mark of the request."""
    now = datetime.now(UTC).isoformat()
    await kube.merge(target, {"metadata": {"annotations": {REQUESTED: now}}})
    return now


async def follow(kube: KubeClient, commit: str, site: Site, report: Reporter) -> None:
    """Wait until Flux has fetched and applied this commit."""
    await _wait("Flux to fetch the repository", lambda: _fetched(kube, commit), site, report)
    await _wait("Flux to apply the repository", lambda: _applied(kube), site, report)


async def reconciles(kube: KubeClient, site: Site, report: Reporter) -> None:
    """Prove that Flux can apply everything again, with the key that it has now."""
    mark = await request(kube, SYNC)
    await _wait("Flux to apply with its new key", lambda: _handled(kube, mark), site, report)


async def decrypts(kube: KubeClient, wanted: Secret, site: Site, report: Reporter) -> None:
    """Wait until the canary has this value in the cluster."""
    name = "Flux to decrypt the canary Secret"
    await _wait(name, lambda: _decrypted(kube, wanted), site, report)


async def _wait(name: str, probe: Probe, site: Site, report: Reporter) -> None:
    await wait_for(
        name,
        probe,
        timeout=site.limits.kubernetes,
        interval=site.limits.interval,
        hint=f"kubectl describe gitrepository,kustomization -n {flux.NAMESPACE}",
        report=report.waiting,
    )


async def _fetched(kube: KubeClient, commit: str) -> Ready[None] | NotYet:
    found = ready(await kube.get(GIT))
    if isinstance(found, NotYet):
        return found
    if why := condition(found.value, "Ready"):
        return NotYet(why)
    revision = revision_of(found.value)
    if commit not in revision:
        return NotYet(f"fetched {revision}, but the latest commit of the branch is {commit}")
    return Ready(None)


async def _applied(kube: KubeClient) -> Ready[None] | NotYet:
    """Ready, and for the fetched commit, not for an earlier one."""
    found = ready(await kube.get(SYNC))
    if isinstance(found, NotYet):
        return found
    fetched = revision_of(await kube.get(GIT) or {})
    applied = found.value["status"].get("lastAppliedRevision")
    if applied is None or applied != fetched:
        return NotYet(f"applied {applied or 'nothing'}, but fetched {fetched}")
    return Ready(None)


async def _handled(kube: KubeClient, mark: str) -> Ready[None] | NotYet:
    live = await kube.get(SYNC)
    found = ready(live)
    if isinstance(found, NotYet):
        return found
    if found.value["status"].get("lastHandledReconcileAt") != mark:
        return NotYet("the request was not handled yet")
    why = condition(found.value, "Ready")
    return NotYet(why) if why else Ready(None)


async def _decrypted(kube: KubeClient, wanted: Secret) -> Ready[None] | NotYet:
    live = await kube.get(Ref("v1", "Secret", flux.CANARY, flux.NAMESPACE))
    if live is None:
        return NotYet("the Secret does not exist yet")
    value = base64.b64decode((live.get("data") or {}).get("canary", "")).decode(errors="replace")
    if value != wanted.reveal():
        return NotYet("its value differs from the repository")
    return Ready(None)


def revision_of(repository: Object) -> str:
    """main@sha1:… as source-controller writes it; empty before the first fetch."""
    artifact = (repository.get("status") or {}).get("artifact") or {}
    return str(artifact.get("revision", ""))
