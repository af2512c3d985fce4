"""Stage `forget`: remove the local files of a destroyed cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.files import PRIVATE, write_atomic
from talops.kube import kubeconfig_file
from talops.machineconfig.places import TALOSCONFIG
from talops.pipeline.stage import Change, Stage
from talops.site.enrolment.record import RECORD as MACHINES
from talops.site.founding import record
from talops.site.founding.evidence import shared_record
from talops.site.founding.shared import record_name
from talops.site.written_configs import talosconfig_without, write

if TYPE_CHECKING:
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.site import Site

# Records of the bootstrap in the directory of the inventory.
FILES = (record.RECORD, record.COMMITTED)


@dataclass(frozen=True)
class Facts:
    """The cluster's secrets are kept: with them the same cluster can be recreated."""

    has_context: bool
    records: tuple[str, ...] = ()
    has_access: bool = False
    has_machines: bool = False


class Forget(Stage[Facts, Change]):
    name = "forget"

    def __init__(self, site: Site, report: Reporter) -> None:
        self._site = site
        self._report = report

    async def observe(self) -> Facts:
        context = kubeconfig_file.entry(self._site.kubeconfig, self._site.cluster.name)
        access = talosconfig_without(self._site.root, self._site.cluster.name)
        machines = (self._site.root / MACHINES).exists()
        return Facts(context is not None, await self._records(), access is not None, machines)

    def plan(self, facts: Facts) -> list[Change]:
        changes = [Change("remove", name, "allows a new bootstrap") for name in facts.records]
        if facts.has_machines:
            changes.append(Change("remove", MACHINES, "allows a config for other machines"))
        if facts.has_context:
            changes.append(Change("remove", self._site.kubeconfig.name, "its context"))
        if facts.has_access:
            changes.append(Change("remove", TALOSCONFIG, "its context"))
        return changes

    async def apply(self, change: Change) -> None:
        if change.target in {*FILES, MACHINES}:
            (self._site.root / change.target).unlink(missing_ok=True)
            return
        if change.target == self._shared_name:
            shared = shared_record(self._site)
            assert shared
            await shared.write("")
            return
        if change.target == TALOSCONFIG:
            left_over = talosconfig_without(self._site.root, self._site.cluster.name)
            write(self._site.root, [left_over] if left_over else [])
            return
        left = kubeconfig_file.without(self._site.kubeconfig, self._site.cluster.name)
        if left is None:
            self._site.kubeconfig.unlink(missing_ok=True)
        else:
            write_atomic(self._site.kubeconfig, left, mode=PRIVATE, guarded=True)

    @property
    def _shared_name(self) -> str:
        return record_name(self._site.cluster.name)

    async def _records(self) -> tuple[str, ...]:
        """The records of the bootstrap."""
        found = [name for name in FILES if (self._site.root / name).exists()]
        shared = shared_record(self._site)
        try:
            if shared and await shared.read():
                found.append(self._shared_name)
        except TalopsError as error:
            # A record that stays only prevents a bootstrap.
            self._report.note(
                f"the shared record of the bootstrap stays, because it cannot be read: {error}",
                level="warning",
                hint=error.hint,
            )
        return tuple(found)

    async def verify(self, _: Seen[Facts, Change], /) -> None:
        """Nothing to prove: each file was written or removed in one step."""
