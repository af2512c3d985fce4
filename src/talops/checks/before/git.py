"""The repository is readable from here with the credentials that Flux will use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.delivery import handover
from talops.delivery.gitrepo import snapshot
from talops.pipeline.checks import passed, skipped, warning
from talops.site.site import Site

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.inventory.model import Repository
    from talops.pipeline.checks import Finding
    from talops.site.site import ClosedSite


async def look(site: ClosedSite) -> list[Finding]:
    repository = site.cluster.repository
    if repository is None:
        return [skipped("the inventory has no repository")]
    if not isinstance(site, Site):
        return [skipped("not checked: the credentials of the repository cannot be opened")]
    reader = handover.access(site, repository)
    if reader is None:
        return [skipped("the deploy key does not exist yet", hint="talops gitops init")]
    async with snapshot(reader) as branch:
        return judge(repository, branch.commit, branch.files)


def judge(repository: Repository, commit: str, files: Sequence[str]) -> list[Finding]:
    if not any(name.startswith(f"{repository.path}/") for name in files):
        hint = "talops gitops init, then commit and push"
        what = f"branch {repository.branch} has no folder {repository.path} yet"
        return [warning(what, repository.url, hint)]
    return [passed(f"{repository.branch} is at {commit[:12]}", repository.url)]
