"""Stage `gitops`: the cluster can decrypt its own secrets and follows its Git repository."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.delivery import flux_install, handover
from talops.delivery.objects import (
    ObjectChange,
    bring,
    client,
    connected,
    look,
    wait_until_ready,
)
from talops.errors import TalopsError
from talops.gitops import deploykey, flux
from talops.gitops.deploykey import VAULT_NAME
from talops.kube.conditions import condition, ready
from talops.kube.objects import Object, Ref
from talops.pipeline.stage import Absent, Stage
from talops.secrets.vault import Vault
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from talops.delivery.gitrepo import GitAccess
    from talops.delivery.handover import CheckedBranch
    from talops.inventory.model import Repository
    from talops.kube.client import KubeClient
    from talops.pipeline.stage import Reporter, Seen
    from talops.redaction import Secret
    from talops.site.site import Site

    Probe = Callable[[], Awaitable[Ready[None] | NotYet]]

FOLLOW, INSTALL, MAKE_KEY = "reconcile", "install", "generate"
# Namespaces and secrets: restoring them restarts nothing.
GENTLE = frozenset({"create"})
REQUESTED = "reconcile.fluxcd.io/requestedAt"
GIT, SYNC = (
    Ref(flux.SOURCES, "GitRepository", flux.NAME, flux.NAMESPACE),
    Ref(flux.KUSTOMIZE, "Kustomization", flux.NAME, flux.NAMESPACE),
)


@dataclass(frozen=True)
class Part:
    """Objects that are applied together, and how to describe that."""

    action: str
    target: str
    objects: tuple[Object, ...]


@dataclass(frozen=True)
class Facts:
    """The parts that differ, and whether their objects are merely missing.

    `needs_key`: a deploy key must be generated first. `checked`: the branch as it is now; None if
    it could not be read yet. `behind`: Flux has fetched another commit than the checked one.
    """

    pending: tuple[tuple[Part, bool], ...] = ()
    needs_key: bool = False
    checked: CheckedBranch | None = None
    behind: bool = False


class GitOps(Stage[Facts, ObjectChange]):
    name = "gitops"

    def __init__(self, site: Site, learn: Callable[..., None], report: Reporter) -> None:
        self._site = site
        self._learn = learn
        self._report = report

    @property
    def _repository(self) -> Repository | None:
        return self._site.cluster.repository

    async def observe(self) -> Facts | Absent:
        """Check repository and key first: errors there are reported before any VM is created."""
        repository = self._repository
        if repository is None:
            return Facts()
        handover.the_key(self._site.sops)
        reader = handover.access(self._site, repository)
        if reader is None:
            return Facts(needs_key=True)
        checked = await handover.check(self._site, repository, reader)
        parts = await self._wanted(repository, reader)
        kube = client(self._site)
        if kube is None:
            return Absent("kubeconfig", "there is no kubeconfig yet")
        async with kube:
            seen = [(part, await look(kube, part.objects)) for part in parts]
            pending = tuple((part, found.gentle) for part, found in seen if not found.done)
            return Facts(pending, checked=checked, behind=await _is_behind(kube, checked))

    def plan(self, facts: Facts) -> list[ObjectChange]:
        if facts.needs_key:
            detail = "deploy key to add to the Git server"
            return [ObjectChange(MAKE_KEY, VAULT_NAME, detail)]
        changes = [
            ObjectChange(
                part.action,
                part.target,
                gentle=missing or part.action in GENTLE,
                objects=part.objects,
            )
            for part, missing in facts.pending
        ]
        if facts.behind and facts.checked:
            commit = facts.checked.commit[:12]
            changes.append(ObjectChange(FOLLOW, commit, "request a fetch by Flux", gentle=True))
        return changes

    async def apply(self, change: ObjectChange) -> None:
        if change.action == MAKE_KEY:
            await make_deploy_key(self._site, self._learn, self._report)
            return
        async with connected(self._site) as kube:
            if change.action == FOLLOW:
                now = datetime.now(UTC).isoformat()
                await kube.merge(GIT, {"metadata": {"annotations": {REQUESTED: now}}})
                return
            await bring(kube, change.objects, self._site, self._report)
            if change.action == INSTALL:
                await wait_until_ready(kube, change.objects, self._site, self._report)

    async def verify(self, seen: Seen[Facts, ObjectChange], /) -> None:
        repository = self._repository
        if repository is None:
            return
        checked = seen.facts.checked
        if checked is None:
            raise TalopsError(
                "the deploy key is new, and the Git server does not accept it yet",
                where=repository.url,
                hint=(
                    "talops gitops deploy-key prints the key; add it to the repository with "
                    "read access, then: talops up"
                ),
            )
        async with connected(self._site) as kube:
            await self._wait("Flux to fetch the repository", lambda: _fetched(kube, checked))
            await self._wait("Flux to apply the repository", lambda: _applied(kube))
            await self._prove(kube, checked.canary)

    async def _wait(self, name: str, probe: Probe) -> None:
        await wait_for(
            name,
            probe,
            timeout=self._site.limits.kubernetes,
            interval=self._site.limits.interval,
            hint=f"kubectl describe gitrepository,kustomization -n {flux.NAMESPACE}",
            report=self._report.waiting,
        )

    async def _prove(self, kube: KubeClient, wanted: Secret | None) -> None:
        """The canary has the same plain value in the cluster as here: Flux decrypted it."""
        if wanted is None:
            self._report.note(
                f"the branch has no {flux.CANARY_FILE}: decryption in the cluster is not proven",
                level="warning",
                hint="talops gitops init, then commit and push",
            )
            return
        await self._wait("Flux to decrypt the canary Secret", lambda: _decrypted(kube, wanted))

    async def _wanted(self, repository: Repository, reader: GitAccess) -> list[Part]:
        title, controllers = await flux_install.objects(self._site, repository.install)
        git = git_secret(self._site, reader)
        key = flux.age_secret(handover.the_key(self._site.sops).identity)
        sync = [flux.git_repository(repository, with_secret=git is not None)]
        sync.append(flux.kustomization(repository))
        operated = repository.install == "operator"
        return [
            Part("create", f"namespace {flux.NAMESPACE}", (flux.namespace(),)),
            Part("create", f"secret {flux.KEY_SECRET}", (key,)),
            *([Part("create", "Git credentials", (git,))] if git else []),
            Part(INSTALL, title, tuple(controllers)),
            *([Part(INSTALL, "FluxInstance", (flux_install.instance(self._site),))] * operated),
            Part("sync", f"{repository.name}@{repository.branch}", tuple(sync)),
        ]


async def _fetched(kube: KubeClient, checked: CheckedBranch) -> Ready[None] | NotYet:
    found = ready(await kube.get(GIT))
    if isinstance(found, NotYet):
        return found
    if why := condition(found.value, "Ready"):
        return NotYet(why)
    revision = revision_of(found.value)
    if checked.commit not in revision:
        return NotYet(
            f"fetched {revision}, but the latest commit of the branch is {checked.commit}"
        )
    return Ready(None)


async def _is_behind(kube: KubeClient, checked: CheckedBranch) -> bool:
    fetched = revision_of(await kube.get(GIT) or {})
    return bool(fetched) and checked.commit not in fetched


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


def git_secret(site: Site, reader: GitAccess) -> Object | None:
    ca = handover.read_named(reader.ca_file, "gitops.ca_file") if reader.ca_file else None
    if reader.key:
        public = deploykey.public_part(reader.key, f"talops {site.cluster.name}")
        return flux.deploy_key_secret(reader.key, public, reader.known_hosts)
    if reader.token:
        return flux.token_secret(reader.username, reader.token, ca)
    return flux.ca_secret(ca) if ca else None


async def make_deploy_key(site: Site, learn: Callable[..., None], report: Reporter) -> Secret:
    """Store the key first: a key that was printed and then lost would be worse than none."""
    made = deploykey.generate()
    learn(made)
    await Vault.of(site.sops).write({VAULT_NAME: made})
    public = deploykey.public_part(made, f"talops {site.cluster.name}")
    report.note(f"add this deploy key to the repository with read access: {public}")
    return made
