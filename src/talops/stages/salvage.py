"""Stage `salvage`: clean up what an interrupted run left behind."""

from __future__ import annotations

import getpass
import socket
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talops.approval import Impact
from talops.errors import TalopsError
from talops.pipeline.history import list_runs
from talops.pipeline.stage import Absent, Change, Stage
from talops.render.layers import layers
from talops.site import layer_access as access
from talops.site.state.copies import copies_around
from talops.statestore.documents import header_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from talops.layer import Layer
    from talops.pipeline.history import PastRun
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.site import Site
    from talops.statestore.backends.interface import StateBackend
    from talops.tofu.engine import Engine

ERRORED = "errored.tfstate"
SECOND = timedelta(seconds=1)
PUSH, REMOVE, UNLOCK = "push", "remove", "unlock"


@dataclass(frozen=True)
class Facts:
    """Paths of unsaved states and of plan files; locks by layer, with their holders."""

    errored: tuple[Path, ...] = ()
    plans: tuple[Path, ...] = ()
    locks: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    # Layers in whose directory a program still runs, in any clone: their locks are in use.
    busy: frozenset[str] = frozenset()
    # The name under which this user holds locks on this machine, also from another clone.
    me: str = ""
    # The id of the run lock that this run holds; "" if the server does not bind locks to runs.
    run: str = ""
    # When runs of this directory began and ended.
    runs: tuple[tuple[datetime, datetime], ...] = ()


@dataclass(frozen=True)
class SalvageChange(Change):
    path: Path = field(default_factory=Path)
    layer: str = ""
    lock: str = ""

    @property
    def impact(self) -> Impact:
        return Impact.CUTS_OFF if self.action == UNLOCK else Impact.CHANGES


class Salvage(Stage[Facts, SalvageChange]):
    """Runs under the run lock: no other talops works on this cluster."""

    name = "salvage"

    def __init__(
        self, site: Site, report: Reporter, open_backend: Callable[[], StateBackend]
    ) -> None:
        self._site = site
        self._report = report
        self._open_backend = open_backend
        self._layers = {layer.state: layer.at(site.root) for layer in layers(site.cluster)}

    async def observe(self) -> Facts | Absent:
        facts = await self._look()
        for name, lock in facts.locks:
            if not is_left_over(name, lock, facts):
                self._name(name, lock)
        return facts

    async def _look(self) -> Facts:
        backend = self._open_backend()
        try:
            states = {info.name: info.lock for info in await backend.overview() if info.lock}
        finally:
            await backend.close()
        known = self._layers.items()
        return Facts(
            errored=tuple(
                layer.path / ERRORED for _, layer in known if (layer.path / ERRORED).exists()
            ),
            plans=tuple(sorted((self._site.root / access.HOME).glob("*.tfplan"))),
            locks=tuple((name, states[name]) for name, _ in known if name in states),
            busy=frozenset(name for name, layer in known if _at_work(layer.directory)),
            me=f"{getpass.getuser()}@{socket.gethostname()}",
            run=self._site.fence.token.partition(":")[2],
            runs=tuple(_times(list_runs(self._site.root / ".talops"))),
        )

    def plan(self, facts: Facts) -> list[SalvageChange]:
        changes = [
            SalvageChange(
                UNLOCK, name, f"left by {lock.get('Who')}", layer=name, lock=str(lock["ID"])
            )
            for name, lock in facts.locks
            if is_left_over(name, lock, facts)
        ]
        for path in facts.errored:
            layer = next(n for n, found in self._layers.items() if found.path == path.parent)
            detail = "a state that could not be saved"
            changes.append(
                SalvageChange(PUSH, f"{layer}/{ERRORED}", detail, path=path, layer=layer)
            )
        changes += [
            SalvageChange(REMOVE, path.name, "a plan that was never applied", path=path)
            for path in facts.plans
        ]
        return changes

    async def apply(self, change: SalvageChange) -> None:
        if change.action == UNLOCK:
            backend = self._open_backend()
            try:
                await backend.unlock(change.layer, change.lock, self._site.fence.token)
            finally:
                await backend.close()
        elif change.action == PUSH:
            await self._push(change)
        else:
            change.path.unlink(missing_ok=True)

    async def verify(self, _: Seen[Facts, SalvageChange], /) -> None:
        facts = await self._look()
        if facts.errored:
            raise TalopsError(
                "an unsaved state still exists", where=", ".join(map(str, facts.errored))
            )

    def _name(self, name: str, lock: Mapping[str, Any]) -> None:
        """Report a lock that another user holds or that is in use."""
        self._report.note(
            f"{name} is locked by {lock.get('Who')} since {lock.get('Created')}",
            level="warning",
            hint=(
                f"if this process does not run any more: talops state unlock {name} --id "
                f"{lock.get('ID')}"
            ),
        )

    async def _push(self, change: SalvageChange) -> None:
        """The newer state wins; an outdated one is moved next to the copies, not deleted."""
        layer = self._layers[change.layer]
        engine = await self._engine(layer)
        unsaved, stored = change.path.read_bytes(), (await engine.state_pull()).strip()
        mine = header_of(unsaved)
        there = header_of(stored.encode()) if stored else None
        if there is None or (there.lineage == mine.lineage and there.serial < mine.serial):
            with copies_around(self._site.root, self._site.cluster):
                await engine.state_push(change.path)
        elif there.serial < mine.serial or there.lineage != mine.lineage:
            raise TalopsError(
                f"{change.path.name} does not belong to this state (lineage {mine.lineage}, "
                f"not {there.lineage})",
                where=str(change.path),
                hint="compare both with talops state show, then push or remove the file",
            )
        aside = self._site.root / access.HOME / f"{change.layer}.{mine.serial}.errored.tfstate"
        change.path.replace(aside)
        aside.chmod(0o600)

    async def _engine(self, layer: Layer) -> Engine:
        engine = access.engine(self._site, layer, self._report.event)
        await access.ensure_init(self._site.root, engine, access.variables(self._site, layer))
        return engine


def is_left_over(name: str, lock: Mapping[str, Any], facts: Facts) -> bool:
    """Taken by a run that has ended, and no program works in the layer any more.

    A lock that names its run is left over if that run does not hold the run lock, because this run
    does. Otherwise it must be from a run of this directory: its user may work in another clone.
    """
    if name in facts.busy:
        return False
    if run := lock.get("Run"):
        return bool(facts.run) and run != facts.run
    if lock.get("Who") != facts.me:
        return False
    try:
        created = datetime.fromisoformat(str(lock.get("Created")))
    except ValueError:
        return False
    return any(begin <= created <= end for begin, end in facts.runs)


def _times(runs: Sequence[PastRun]) -> Iterator[tuple[datetime, datetime]]:
    """From newest to oldest. A killed run lasted at most until the next one began."""
    later = datetime.now(UTC)
    for run in runs:
        begin = datetime.fromisoformat(run.info.started)
        end = datetime.fromisoformat(run.ended) + SECOND if run.ended else later
        if run.status != "running":
            yield begin, end
        later = begin


def _at_work(directory: str) -> bool:
    """Whether a program runs in this layer of any clone, such as an OpenTofu without talops."""
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if str(link.resolve()).endswith(f"/{directory}"):
                return True
        except OSError:  # the process ended, or belongs to another user
            continue
    return False
