"""Stage `forget`: remove the local files of a destroyed cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.files import PRIVATE, write_atomic
from talops.kube import kubeconfig_file
from talops.machineconfig.places import TALOSCONFIG
from talops.pipeline.stage import Change, Stage
from talops.site.bootstrap_record import RECORD
from talops.site.written_configs import talosconfig_without, write

if TYPE_CHECKING:
    from pathlib import Path

    from talops.pipeline.stage import Reporter, Seen
    from talops.site.site import Site


@dataclass(frozen=True)
class Facts:
    """The cluster's secrets are kept: with them the same cluster can be recreated."""

    has_context: bool
    has_record: bool
    has_access: bool = False


class Forget(Stage[Facts, Change]):
    name = "forget"

    def __init__(self, site: Site, report: Reporter) -> None:
        self._site = site
        self._report = report

    @property
    def _record(self) -> Path:
        return self._site.root / RECORD

    async def observe(self) -> Facts:
        context = kubeconfig_file.entry(self._site.kubeconfig, self._site.cluster.name)
        access = talosconfig_without(self._site.root, self._site.cluster.name)
        return Facts(context is not None, self._record.exists(), access is not None)

    def plan(self, facts: Facts) -> list[Change]:
        changes = []
        if facts.has_record:
            changes.append(Change("remove", RECORD, "allows a new bootstrap"))
        if facts.has_context:
            changes.append(Change("remove", self._site.kubeconfig.name, "its context"))
        if facts.has_access:
            changes.append(Change("remove", TALOSCONFIG, "its context"))
        return changes

    async def apply(self, change: Change) -> None:
        if change.target == RECORD:
            self._record.unlink(missing_ok=True)
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

    async def verify(self, _: Seen[Facts, Change], /) -> None:
        """Nothing to prove: each file was written or removed in one step."""
