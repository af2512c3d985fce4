"""Stage `gitops`: the cluster can decrypt its own secrets and follows its repository."""

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

FOLLOW, INSTALL, MAKE_KEY = "follow", "install", "make"
# Namespaces and secrets: nothing restarts because they are as they should be again.
GENTLE = frozenset({"create", "plant"})
REQUESTED = "reconcile.fluxcd.io/requestedAt"
GIT, SYNC = (
    Ref(flux.SOURCES, "GitRepository", flux.NAME, flux.NAMESPACE),
    Ref(flux.KUSTOMIZE, "Kustomization", flux.NAME, flux.NAMESPACE),
)


@dataclass(frozen=True)
class Part:
    """Objects that are brought together, and what to call that."""

    action: str
    target: str
    objects: tuple[Object, ...]


@dataclass(frozen=True)
class Facts:
    """The parts of which something differs, and whether their objects are merely missing.

    `needs_key`: a deploy key has to be made first.

    `checked`: the branch as it is now; None: nobody could look at it yet.

    `behind`: Flux has fetched another commit than the one that was checked.
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
        """Repository and key first: what is wrong there shows before any VM is made."""
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
            detail = "a deploy key, to be allowed at the Git server"
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
            changes.append(ObjectChange(FOLLOW, commit, "Flux is asked to look now", gentle=True))
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
                "the deploy key is new: the Git server does not know it yet",
                where=repository.url,
                hint="talops gitops deploy-key prints it; allow it there, then talops up again",
            )
        async with connected(self._site) as kube:
            await self._wait("the repository is fetched", lambda: _fetched(kube, checked))
            await self._wait("the repository is applied", lambda: _applied(kube))
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
        """The canary's value is in the cluster as plain as it is here: Flux has decrypted it."""
        if wanted is None:
            self._report.note(
                f"the branch has no {flux.CANARY_FILE}: decryption in the cluster is not proven",
                level="warning",
                hint="talops gitops init, then commit and push",
            )
            return
        await self._wait("the canary is decrypted in the cluster", lambda: _decrypted(kube, wanted))

    async def _wanted(self, repository: Repository, reader: GitAccess) -> list[Part]:
        title, controllers = await flux_install.objects(self._site, repository.install)
        git = git_secret(self._site, reader)
        key = flux.age_secret(handover.the_key(self._site.sops).identity)
        sync = [flux.git_repository(repository, with_secret=git is not None)]
        sync.append(flux.kustomization(repository))
        operated = repository.install == "operator"
        return [
            Part("create", f"namespace {flux.NAMESPACE}", (flux.namespace(),)),
            Part("plant", f"secret {flux.KEY_SECRET}", (key,)),
            *([Part("plant", "Git credentials", (git,))] if git else []),
            Part(INSTALL, title, tuple(controllers)),
            *([Part(INSTALL, "FluxInstance", (flux_install.instance(self._site),))] * operated),
            Part("hand over to", f"{repository.name}@{repository.branch}", tuple(sync)),
        ]


async def _fetched(kube: KubeClient, checked: CheckedBranch) -> Ready[None] | NotYet:
    found = ready(await kube.get(GIT))
    if isinstance(found, NotYet):
        return found
    if why := condition(found.value, "Ready"):
        return NotYet(why)
    revision = revision_of(found.value)
    if checked.commit not in revision:
        return NotYet(f"{revision} is fetched, {checked.commit} is the branch's last")
    return Ready(None)


async def _is_behind(kube: KubeClient, checked: CheckedBranch) -> bool:
    fetched = revision_of(await kube.get(GIT) or {})
    return bool(fetched) and checked.commit not in fetched


async def _applied(kube: KubeClient) -> Ready[None] | NotYet:
    """Ready, and of the commit that was fetched, not of an earlier one."""
    found = ready(await kube.get(SYNC))
    if isinstance(found, NotYet):
        return found
    fetched = revision_of(await kube.get(GIT) or {})
    applied = found.value["status"].get("lastAppliedRevision")
    if applied is None or applied != fetched:
        return NotYet(f"{applied or 'nothing'} is applied, {fetched} is fetched")
    return Ready(None)


async def _decrypted(kube: KubeClient, wanted: Secret) -> Ready[None] | NotYet:
    live = await kube.get(Ref("v1", "Secret", flux.CANARY, flux.NAMESPACE))
    if live is None:
        return NotYet("it does not exist yet")
    value = base64.b64decode((live.get("data") or {}).get("canary", "")).decode(errors="replace")
    if value != wanted.reveal():
        return NotYet("its value is not the one in the repository")
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
    """Into the vault first: a key that was shown and then lost would be worse than none."""
    made = deploykey.generate()
    learn(made)
    await Vault.of(site.sops).write({VAULT_NAME: made})
    public = deploykey.public_part(made, f"talops {site.cluster.name}")
    report.note(f"allow this deploy key to read the repository: {public}")
    return made
