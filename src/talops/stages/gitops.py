"""Stage `gitops`: the cluster can decrypt its own secrets and follows its Git repository."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.delivery import flux_install, following, handover
from talops.delivery.flux_keys import flux_keys, live_keys
from talops.delivery.keeping import keep_only_goal
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
from talops.pipeline.stage import Absent, Stage
from talops.secrets.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.delivery.flux_keys import FluxKeys
    from talops.delivery.gitrepo import GitAccess
    from talops.delivery.handover import CheckedBranch
    from talops.inventory.model import Repository
    from talops.kube.client import KubeClient
    from talops.kube.objects import Object
    from talops.pipeline.stage import Reporter, Seen
    from talops.redaction import Secret
    from talops.site.site import Site


FOLLOW, INSTALL, MAKE_KEY, UPDATE = "reconcile", "install", "generate", "update"
NARROW = "remove"
# Namespaces and secrets: restoring them restarts nothing.
GENTLE = frozenset({"create", UPDATE})


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
    `narrow`: the cluster holds an older key, which Flux needs only until it has that commit.
    """

    pending: tuple[tuple[Part, bool], ...] = ()
    needs_key: bool = False
    checked: CheckedBranch | None = None
    behind: bool = False
    narrow: bool = False


@dataclass(frozen=True)
class _Held:
    """The Secret with the keys of the cluster; `narrow`: with one that it will lose."""

    part: Part
    narrow: bool


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
        keys = flux_keys(self._site.sops, self._site.credentials, repository)
        reader = handover.access(self._site, repository)
        if reader is None:
            return Facts(needs_key=True)
        checked = await handover.check(self._site, repository, reader, keys)
        parts = await self._wanted(repository, reader)
        kube = client(self._site)
        if kube is None:
            keys.to_hold((), checked.waiting, applied=False)
            return Absent("kubeconfig", "there is no kubeconfig yet")
        async with kube:
            held = await self._held(kube, keys, checked)
            parts.insert(1, held.part)
            seen = [(part, await look(kube, part.objects)) for part in parts]
            pending = tuple((part, found.gentle) for part, found in seen if not found.done)
            behind = await following.is_behind(kube, checked.commit)
            return Facts(pending, False, checked, behind, held.narrow)

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
        if facts.narrow:
            detail = "when Flux does not need it any more"
            changes.append(ObjectChange(NARROW, f"old key from secret {flux.KEY_SECRET}", detail))
        return changes

    async def apply(self, change: ObjectChange) -> None:
        if change.action == MAKE_KEY:
            await make_deploy_key(self._site, self._learn, self._report)
            return
        async with connected(self._site) as kube:
            if change.action == FOLLOW:
                await following.request(kube, following.GIT)
                return
            if change.action == NARROW:
                await self._narrow(kube)
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
            await following.follow(kube, checked.commit, self._site, self._report)
            await self._prove(kube, checked.canary)

    async def _held(self, kube: KubeClient, keys: FluxKeys, checked: CheckedBranch) -> _Held:
        live = await live_keys(kube)
        applied = await following.has_applied(kube, checked.commit)
        held = keys.to_hold(live, checked.waiting, applied=applied)
        secret = flux.age_secret(*(key.identity for key in held))
        part = Part(UPDATE if live else "create", f"secret {flux.KEY_SECRET}", (secret,))
        return _Held(part, narrow=len(held) > 1 and not checked.waiting)

    async def _narrow(self, kube: KubeClient) -> None:
        repository = self._repository
        assert repository
        keys = flux_keys(self._site.sops, self._site.credentials, repository)
        reader = handover.access(self._site, repository)
        assert reader
        checked = await handover.check(self._site, repository, reader, keys)
        await keep_only_goal(kube, keys, checked, self._site, self._report)

    async def _prove(self, kube: KubeClient, wanted: Secret | None) -> None:
        """The canary has the same plain value in the cluster as here: Flux decrypted it."""
        if wanted is None:
            self._report.note(
                f"the branch has no {flux.CANARY_FILE}: decryption in the cluster is not proven",
                level="warning",
                hint="talops gitops init, then commit and push",
            )
            return
        await following.decrypts(kube, wanted, self._site, self._report)

    async def _wanted(self, repository: Repository, reader: GitAccess) -> list[Part]:
        title, controllers = await flux_install.objects(self._site, repository.install)
        git = git_secret(self._site, reader)
        sync = [flux.git_repository(repository, with_secret=git is not None)]
        sync.append(flux.kustomization(repository))
        operated = repository.install == "operator"
        return [
            Part("create", f"namespace {flux.NAMESPACE}", (flux.namespace(),)),
            *([Part("create", "Git credentials", (git,))] if git else []),
            Part(INSTALL, title, tuple(controllers)),
            *([Part(INSTALL, "FluxInstance", (flux_install.instance(self._site),))] * operated),
            Part("sync", f"{repository.name}@{repository.branch}", tuple(sync)),
        ]


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
