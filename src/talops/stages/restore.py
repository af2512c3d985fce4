"""Stage `bootstrap` in a recovery: restore a lost etcd, or bootstrap an empty one on request.

In all other workflows a cluster that was bootstrapped once is never bootstrapped again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.approval import Impact
from talops.errors import ConflictError, TalopsError
from talops.pipeline.stage import Absent, Change
from talops.site.protection import require_unprotected
from talops.stages.bootstrap import Bootstrap, Facts
from talops.talos.recovery import recover_etcd
from talops.talos.snapshot import check
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from talops.pipeline.stage import Reporter
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site

RESTORE = "restore"


@dataclass(frozen=True)
class RecoveryChoice:
    """How to recover a lost etcd: from a snapshot, empty (`again`), or not at all."""

    snapshot: Path | None = None
    from_copy: bool = False
    again: bool = False


class NewEtcd(Change):
    """An empty etcd takes the place of a lost one."""

    @property
    def impact(self) -> Impact:
        return Impact.DESTROYS


class Restore(Bootstrap):
    def __init__(
        self, site: Site, secrets: SecretsFile, report: Reporter, choice: RecoveryChoice
    ) -> None:
        super().__init__(site, secrets, report)
        self._choice = choice
        if choice.snapshot:
            if not choice.from_copy:
                check(choice.snapshot)
            self._digest = hashlib.sha256(choice.snapshot.read_bytes()).hexdigest()

    def plan(self, facts: Facts) -> list[Change]:
        first = self._planes[0]
        if not facts.empty:
            return self._already(facts)
        if self._choice.snapshot:
            detail = f"from {self._choice.snapshot.name}"
            return [Change(RESTORE, f"etcd on {first.name}", detail, first.name)]
        if self._choice.again:
            require_unprotected(self._planes, "bootstrap a new etcd on")
            detail = "empty: the data of the old etcd is lost"
            return [NewEtcd("bootstrap", f"etcd on {first.name}", detail, first.name)]
        return super().plan(facts)

    async def apply(self, change: Change) -> None:
        if change.action != RESTORE:
            await super().apply(change)
            return
        bundle = await self._secrets.require()
        # Recorded before the restore: if it is interrupted, only another recovery can continue it.
        self._record("founded", bundle.cluster_id, snapshot=self._digest)
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
        if not self._choice.snapshot:
            self._require_majority(facts)
            return []
        if facts.snapshot == self._digest:
            return []
        having = [name for name, plane in facts.planes.items() if plane.has_data or plane.members]
        raise ConflictError(
            "etcd has data, so the snapshot was not restored",
            where=", ".join(having),
            hint=(
                "to keep the data: talops recover without --from-snapshot; if it is damaged, "
                "wipe it on every control plane first: talops talos reset --label EPHEMERAL "
                "--reboot --no-graceful --nodes … (add --label ETCD if that is a separate "
                "volume)"
            ),
        )

    async def _restored(self) -> Ready[None] | NotYet:
        """Observe all, then upload and call one. After a lost answer observe again."""
        facts = await self._observed()
        if isinstance(facts, Absent):
            return NotYet(facts.reason)
        if not facts.empty:
            return Ready(None)
        assert self._fleet
        assert self._choice.snapshot
        planes = [self._fleet.talos(node) for node in self._planes]
        try:
            await recover_etcd(
                planes[0],
                planes,
                self._choice.snapshot,
                timeout=self._site.limits.etcd,
                from_copy=self._choice.from_copy,
            )
        finally:
            for talos in planes:
                talos.close()
        return NotYet("accepted; etcd is starting from the snapshot")


def recovery_choice(
    cluster: str, snapshot: Path | None, again: str | None, *, from_copy: bool
) -> RecoveryChoice:
    """`again` is the cluster's name, typed as confirmation."""
    if again is not None and again != cluster:
        raise TalopsError(
            f"--bootstrap-again requires the name of this cluster, {cluster}, not {again}",
        )
    if snapshot and again:
        raise TalopsError("--from-snapshot and --bootstrap-again cannot be combined")
    if snapshot and not snapshot.is_file():
        raise TalopsError("the snapshot does not exist", where=str(snapshot))
    return RecoveryChoice(snapshot, from_copy, again is not None)
