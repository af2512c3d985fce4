"""Stage `bootstrap` in a recovery: restore a lost etcd, or bootstrap an empty one on request.

In all other workflows a cluster that was bootstrapped once is never bootstrapped again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.approval import Impact
from talops.backups.restoring import BackupSource, FileSource
from talops.errors import ConflictError, NotReadyError, TalopsError, UnreachableError
from talops.pipeline.stage import Absent, Change
from talops.rolls.wiping import wipe_etcd
from talops.site.protection import require_unprotected
from talops.stages.bootstrap import Bootstrap, Facts
from talops.talos.errors import PreconditionError
from talops.talos.recovery import recover_from
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site

RESTORE, WIPE = "restore", "wipe"


@dataclass(frozen=True)
class RecoveryChoice:
    """How to recover a lost etcd: from a file, from a backup (its id, or `latest`), empty
    (`again`), or not at all.
    """

    snapshot: Path | None = None
    from_copy: bool = False
    again: bool = False
    backup: str | None = None


class LostData(Change):
    """The data of an etcd that cannot run again is removed."""

    @property
    def impact(self) -> Impact:
        return Impact.DESTROYS


class Restore(Bootstrap):
    def __init__(
        self, site: Site, secrets: SecretsFile, report: Reporter, choice: RecoveryChoice
    ) -> None:
        super().__init__(site, secrets, report)
        self._choice = choice
        self._source: FileSource | BackupSource | None = None
        if choice.snapshot:
            self._source = FileSource(choice.snapshot, choice.from_copy)
        elif choice.backup:
            self._source = BackupSource(site, choice.backup)

    async def observe(self) -> Facts | Absent:
        """A snapshot that cannot be used is noticed before anything is wiped for it."""
        if self._source:
            await self._source.prepare()
        return await super().observe()

    def plan(self, facts: Facts) -> list[Change]:
        first = self._planes[0]
        if not facts.empty:
            return self._already(facts)
        if self._source:
            return [self._restore_change()]
        if self._choice.again:
            require_unprotected(self._planes, "bootstrap a new etcd on")
            detail = "empty: the data of the old etcd is lost"
            return [LostData("bootstrap", f"etcd on {first.name}", detail, first.name)]
        return super().plan(facts)

    def _restore_change(self) -> Change:
        first = self._planes[0]
        assert self._source
        return Change(RESTORE, f"etcd on {first.name}", f"from {self._source.name}", first.name)

    def _wipes(self, facts: Facts) -> list[Change]:
        """The members that are left: too few, as the lists of members and the disks prove."""
        left = [n for n in self._planes if facts.planes[n.name].has_data]
        require_unprotected(left, "wipe etcd on")
        lost = f"{', '.join(sorted(facts.lost))} lost their data"
        assert isinstance(self._source, BackupSource)
        detail = f"no majority without it: {lost}; {self._source.kept}"
        return [LostData(WIPE, f"etcd data on {n.name}", detail, n.name) for n in left]

    async def apply(self, change: Change) -> None:
        if change.action == WIPE:
            await self._wipe(next(n for n in self._planes if n.name == change.node))
            return
        if change.action != RESTORE:
            await super().apply(change)
            return
        assert self._source
        bundle = await self._secrets.require()
        # Recorded before the restore: if it is interrupted, only another recovery can continue it.
        self._record("founded", bundle.cluster_id, snapshot=self._source.digest)
        await wait_for(
            "etcd to be restored",
            self._restored,
            timeout=self._site.limits.etcd,
            interval=self._site.limits.interval,
            hint=f"talops talos services --nodes {self._planes[0].address}",
            report=self._report.waiting,
        )

    def _already(self, facts: Facts) -> list[Change]:
        """A restore that was interrupted after it was accepted counts as done."""
        if not self._source:
            self._require_majority(facts)
            return []
        if facts.majority_lost and self._choice.backup:
            return [*self._wipes(facts), self._restore_change()]
        if facts.snapshot == self._source.digest:
            return []
        having = [name for name, plane in facts.planes.items() if plane.has_data or plane.members]
        raise ConflictError(
            "etcd has data, so the snapshot was not restored",
            where=", ".join(having),
            hint=(
                f"to keep the data: talops recover without {self._source.option}; if it is "
                "damaged, wipe it on every control plane first: talops talos reset --label "
                "EPHEMERAL --reboot --no-graceful --nodes … (add --label ETCD if that is a "
                "separate volume)"
            ),
        )

    async def _wipe(self, node: Node) -> None:
        """Proven once more: a member with a leader has a majority, and nothing of it is lost."""
        assert self._fleet
        async with self._fleet.talos(node) as talos:
            try:
                leader = (await talos.etcd.status()).leader
            except PreconditionError:  # its etcd does not run
                leader = 0
        if leader:
            raise ConflictError(
                "etcd has a leader: its majority is back, so nothing was wiped",
                where=node.name,
                hint="talops recover without --from-backup",
            )
        await wipe_etcd(self._fleet, node)
        await wait_for(
            f"{node.name} to be without etcd data",
            lambda: self._wiped(node),
            timeout=self._site.limits.install,
            interval=self._site.limits.interval,
            hint=f"talops talos services --nodes {node.address}",
            report=lambda waiting: self._report.waiting(waiting, node=node.name),
        )

    async def _wiped(self, node: Node) -> Ready[None] | NotYet:
        try:
            plane = await self._look(node)
        except (UnreachableError, NotReadyError) as error:
            return NotYet(f"rebooting: {error.what}")
        return NotYet("resetting") if plane.has_data else Ready(None)

    async def _restored(self) -> Ready[None] | NotYet:
        """Observe all, then upload and call one. After a lost answer observe again."""
        facts = await self._observed()
        if isinstance(facts, Absent):
            return NotYet(facts.reason)
        if not facts.empty:
            return Ready(None)
        assert self._fleet
        assert self._source
        planes = [self._fleet.talos(node) for node in self._planes]
        try:
            async with self._source.opened() as pieces:
                await recover_from(
                    planes[0],
                    planes,
                    pieces,
                    timeout=self._site.limits.etcd,
                    skip_hash_check=self._source.skip_hash_check,
                )
        finally:
            for talos in planes:
                talos.close()
        return NotYet("accepted; etcd is starting from the snapshot")


def recovery_choice(
    cluster: str,
    snapshot: Path | None,
    again: str | None,
    *,
    from_copy: bool,
    backup: str | None = None,
) -> RecoveryChoice:
    """`again` is the cluster's name, typed as confirmation."""
    if again is not None and again != cluster:
        raise TalopsError(
            f"--bootstrap-again requires the name of this cluster, {cluster}, not {again}",
        )
    given = {"--from-snapshot": snapshot, "--from-backup": backup, "--bootstrap-again": again}
    named = [name for name, value in given.items() if value]
    if len(named) > 1:
        raise TalopsError(f"{' and '.join(named)} cannot be combined")
    if snapshot and not snapshot.is_file():
        raise TalopsError("the snapshot does not exist", where=str(snapshot))
    return RecoveryChoice(snapshot, from_copy, again is not None, backup)
