"""Stage `recipients`: the cluster's key opens every file that Flux reads, and no other file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from talops.pipeline.stage import Absent, Change, Stage
from talops.plural import count
from talops.secrets import split
from talops.secrets.cluster_key import FOLDER, ClusterKey, cluster_key, flux_folder
from talops.secrets.rules import FILE as RULES_FILE
from talops.secrets.vault import Vault
from talops.stages.keys.add_key import NO_KEY

if TYPE_CHECKING:
    from talops.pipeline.stage import Reporter, Seen
    from talops.secrets.split import FileChange, Pending
    from talops.site.site import Site


@dataclass(frozen=True)
class Facts:
    key: ClusterKey
    pending: Pending


@dataclass(frozen=True)
class RecipientChange(Change):
    """Either the new text of .sops.yaml, or new recipients of one file."""

    rules: str | None = field(default=None, repr=False)
    file: FileChange | None = None


class Recipients(Stage[Facts, RecipientChange]):
    """The proof decrypts every encrypted file of this directory with the cluster's key alone."""

    name = "recipients"

    def __init__(self, site: Site, report: Reporter) -> None:
        self._site = site
        self._report = report

    async def observe(self) -> Facts | Absent:
        key = await self._key()
        if key is None:
            return NO_KEY
        return Facts(key, await split.pending(self._site.root, key, self._folder))

    def plan(self, facts: Facts) -> list[RecipientChange]:
        pending, recipient = facts.pending, facts.key.goal.recipient
        changes = [RecipientChange("encrypt", f.name, _detail(f), file=f) for f in pending.files]
        if pending.rules is None:
            return changes
        detail = f"{recipient} for {self._folder}/"
        return [RecipientChange("update", RULES_FILE, detail, rules=pending.rules), *changes]

    async def apply(self, change: RecipientChange) -> None:
        if change.rules is not None:
            split.change_rules(self._site.root, change.rules)
        key = await self._key()
        if change.file and key:
            await split.change_file(self._site.sops, key, change.file)

    async def verify(self, seen: Seen[Facts, RecipientChange], /) -> None:
        alone = replace(self._site.sops, keys=seen.facts.key.ring)
        opened = await split.prove(alone, self._folder)
        files = count(opened, "file")
        self._report.note(
            f"proven: the key of the cluster opens {files} in {self._folder}/ and no other file"
        )

    @property
    def _folder(self) -> str:
        repository = self._site.cluster.repository
        return flux_folder(repository.path) if repository else FOLDER

    async def _key(self) -> ClusterKey | None:
        return cluster_key(await Vault.of(self._site.sops).read())


def _detail(change: FileChange) -> str:
    parts = [f"also for {', '.join(change.add)}"] if change.add else []
    parts += [f"no longer for {', '.join(change.remove)}"] if change.remove else []
    return ", ".join(parts)
