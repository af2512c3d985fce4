"""Flux: its sources are fetched, its Kustomizations are applied, and secrets are decrypted."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from talops.checks.after import workloads
from talops.gitops import flux as names
from talops.kube.conditions import condition
from talops.kube.discovery import UnknownKindError
from talops.kube.objects import Ref
from talops.pipeline.checks import failed, passed, skipped, unproven, warning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.kube.objects import Object
    from talops.pipeline.checks import Finding
    from talops.site.connections import Connections

KINDS = (
    ("source.toolkit.fluxcd.io/v1", "GitRepository"),
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"),
)


async def look(connections: Connections) -> list[Finding]:
    if connections.site.cluster.repository is None:
        return [skipped("the inventory has no repository")]
    async with connections.kube() as kube:
        try:
            objects = [obj for kind in KINDS for obj in await kube.list_all(*kind)]
        except UnknownKindError:
            what = "the inventory has a repository, but Flux is not installed"
            return [warning(what, hint="talops up --only gitops")]
        canary = await kube.get(Ref("v1", "Secret", names.CANARY, names.NAMESPACE))
        run = await workloads.are_run(kube)
        return [*judge(objects, run=run), judge_canary(canary)]


def judge(objects: Sequence[Object], *, run: bool) -> list[Finding]:
    """`run`: controllers can be running; otherwise an object without a condition proves nothing."""
    if not objects:
        return [
            failed("Flux has no GitRepository and no Kustomization", hint="talops up --only gitops")
        ]
    return [_one(obj, run=run) for obj in objects]


def _one(obj: Object, *, run: bool) -> Finding:
    meta, spec = obj["metadata"], obj.get("spec") or {}
    name = f"{obj['kind']} {meta.get('namespace', '')}/{meta['name']}"
    if spec.get("suspend"):
        return warning(
            "reconciliation is suspended", name, f"flux resume {_verb(obj)} {meta['name']}"
        )
    reason = condition(obj, "Ready")
    if not reason:
        # A Kustomization with encrypted parts is Ready only if all of them were decrypted.
        opened = ", secrets decrypted" if spec.get("decryption") else ""
        return passed(f"Ready{opened}", name)
    if not run and reason.startswith("no condition"):
        return unproven(f"not reconciled yet: {workloads.NO_CONTROLLERS}", name)
    return failed(reason, name, f"flux reconcile {_verb(obj)} {meta['name']}")


def judge_canary(secret: Object | None) -> Finding:
    """An encrypted file of the repository that is plain in the cluster: Flux decrypted it."""
    where = f"Secret {names.NAMESPACE}/{names.CANARY}"
    value = ((secret or {}).get("data") or {}).get("canary", "")
    text = base64.b64decode(value).decode(errors="replace")
    if not text:
        return unproven(
            "the canary Secret does not exist, so decryption by Flux is not proven",
            where,
            "talops gitops init",
        )
    if text.startswith("ENC["):
        return failed(
            "the canary Secret is still encrypted: Flux did not decrypt it",
            where,
            "talops up --only gitops",
        )
    return passed("the canary Secret is decrypted", where)


def _verb(obj: Object) -> str:
    return "kustomization" if obj["kind"] == "Kustomization" else "source git"
