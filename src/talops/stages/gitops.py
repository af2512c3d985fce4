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
from talops.pipeline.stage import Absent
from talops.secrets.vault import Vault
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from talops.delivery.gitrepo import GitAccess
    from talops.delivery.handover import Checked
    from talops.inventory.model import Repository
    from talops.kube.client import KubeClient
    from talops.pipeline.stage import Reporter
    from talops.redaction import Secret
    from talops.site.site import Site

    Judge = Callable[[KubeClient], Awaitable[Ready[None] | NotYet]]

FOLLOW = "follow"
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

    `behind`: Flux has fetched another commit than the one that was checked.
    """

    pending: tuple[tuple[str, bool], ...] = ()
    needs_key: bool = False
    behind: bool = False


class GitOps:
    name = "gitops"
    independent = False

    def __init__(self, site: Site, learn: Callable[..., None], report: Reporter) -> None:
        self._site = site
        self._learn = learn
        self._report = report
        self._parts: dict[str, Part] = {}
        self._checked: Checked | None = None

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
        self._checked = await handover.check(self._site, repository, reader)
        self._parts = {p.target: p for p in await self._wanted(repository, reader)}
        kube = client(self._site)
        if kube is None:
            return Absent("kubeconfig", "there is no kubeconfig yet")
        async with kube:
            seen = {target: await look(kube, p.objects) for target, p in self._parts.items()}
            pending = [(target, found.gentle) for target, found in seen.items() if not found.done]
            behind = await self._is_behind(kube)
        return Facts(tuple(pending), behind=behind)

    def plan(self, facts: Facts) -> list[ObjectChange]:
        if facts.needs_key:
            detail = "a deploy key, to be allowed at the Git server"
            return [ObjectChange("make", VAULT_NAME, detail)]
        changes = [
            ObjectChange(part.action, target, gentle=missing or part.action in GENTLE)
            for target, missing in facts.pending
            for part in [self._parts[target]]
        ]
        if facts.behind:
            assert self._checked
            commit = self._checked.commit[:12]
            changes.append(ObjectChange(FOLLOW, commit, "Flux is asked to look now", gentle=True))
        return changes

    async def apply(self, change: ObjectChange) -> None:
        if change.target == VAULT_NAME:
            await make_deploy_key(self._site, self._learn, self._report)
            return
        async with connected(self._site) as kube:
            if change.action == FOLLOW:
                now = datetime.now(UTC).isoformat()
                await kube.merge(GIT, {"metadata": {"annotations": {REQUESTED: now}}})
                return
            part = self._parts[change.target]
            await bring(kube, part.objects, self._site, self._report)
            if change.action == "install":
                await self._installed(kube, part)

    async def _installed(self, kube: KubeClient, part: Part) -> None:
        await wait_until_ready(kube, part.objects, self._site, self._report)

    async def verify(self) -> None:
        repository = self._repository
        if repository is None:
            return
        if self._checked is None:
            raise TalopsError(
                "the deploy key is new: the Git server does not know it yet",
                where=repository.url,
                hint="talops gitops deploy-key prints it; allow it there, then talops up again",
            )
        async with connected(self._site) as kube:
            await self._wait("the repository is fetched", kube, self._fetched)
            await self._wait("the repository is applied", kube, self._applied)
            await self._prove(kube)

    async def _wait(self, name: str, kube: KubeClient, judge: Judge) -> None:
        async def probe() -> Ready[None] | NotYet:
            return await judge(kube)

        await wait_for(
            name,
            probe,
            timeout=self._site.limits.kubernetes,
            interval=self._site.limits.interval,
            hint=f"kubectl describe gitrepository,kustomization -n {flux.NAMESPACE}",
            report=self._report.waiting,
        )

    async def _fetched(self, kube: KubeClient) -> Ready[None] | NotYet:
        found = ready(await kube.get(GIT))
        if isinstance(found, NotYet):
            return found
        if why := condition(found.value, "Ready"):
            return NotYet(why)
        assert self._checked
        revision = revision_of(found.value)
        if self._checked.commit not in revision:
            return NotYet(f"{revision} is fetched, {self._checked.commit} is the branch's last")
        return Ready(None)

    async def _is_behind(self, kube: KubeClient) -> bool:
        assert self._checked
        fetched = revision_of(await kube.get(GIT) or {})
        return bool(fetched) and self._checked.commit not in fetched

    async def _applied(self, kube: KubeClient) -> Ready[None] | NotYet:
        """Ready, and of the commit that was fetched, not of an earlier one."""
        found = ready(await kube.get(SYNC))
        if isinstance(found, NotYet):
            return found
        fetched = revision_of(await kube.get(GIT) or {})
        applied = found.value["status"].get("lastAppliedRevision")
        if applied is None or applied != fetched:
            return NotYet(f"{applied or 'nothing'} is applied, {fetched} is fetched")
        return Ready(None)

    async def _prove(self, kube: KubeClient) -> None:
        """The canary's value is in the cluster as plain as it is here: Flux has decrypted it."""
        assert self._checked
        wanted = self._checked.canary
        if wanted is None:
            self._report.note(
                f"the branch has no {flux.CANARY_FILE}: decryption in the cluster is not proven",
                level="warning",
                hint="talops gitops init, then commit and push",
            )
            return
        await self._wait("the canary is decrypted in the cluster", kube, self._canary)

    async def _canary(self, kube: KubeClient) -> Ready[None] | NotYet:
        assert self._checked
        assert self._checked.canary
        live = await kube.get(Ref("v1", "Secret", flux.CANARY, flux.NAMESPACE))
        if live is None:
            return NotYet("it does not exist yet")
        value = base64.b64decode((live.get("data") or {}).get("canary", "")).decode(
            errors="replace"
        )
        if value != self._checked.canary.reveal():
            return NotYet("its value is not the one in the repository")
        return Ready(None)

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
            Part("install", title, tuple(controllers)),
            *([Part("install", "FluxInstance", (flux_install.instance(self._site),))] * operated),
            Part("hand over to", f"{repository.name}@{repository.branch}", tuple(sync)),
        ]


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
