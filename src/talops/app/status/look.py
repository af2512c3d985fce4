"""Read everything that `talops status` shows; what cannot be read is said, and hides nothing."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.app.drift.look import left_to_tuppr
from talops.app.status.model import Comparison, Seen, judge, versions_of
from talops.app.status.record import read_comparison
from talops.checks.after import backups, certificates
from talops.errors import TalopsError
from talops.inventory.windows import window_state
from talops.pipeline.checks import Check, masked, run_checks
from talops.pipeline.history import list_runs
from talops.pipeline.lock import is_held, read_holder
from talops.rolls.marks import is_cordoned, mark_of
from talops.site.connections import Connections, values_of
from talops.site.run_lock import lock_name
from talops.site.run_lock import read as read_shared
from talops.site.state.backends import backend_of
from talops.site.state.pausing import read_pause
from talops.stages.verify import verify_checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.kube.objects import Object
    from talops.pipeline.history import PastRun
    from talops.rolls.marks import Mark
    from talops.site.site import ClosedSite, Site
    from talops.views.status import Status

# Runs of these commands compare everything with the inventory.
COMPARING = frozenset({"up", "plan"})
DIFFERS = {"unchanged": False, "done": False, "differences": True, "declined": True}


async def look(site: Site, now: datetime | None = None) -> Status:
    at = now or datetime.now(UTC)
    return judge(site.cluster.name, wanted_of(site), await see(site, at), at)


def wanted_of(site: ClosedSite) -> dict[str, str]:
    """The versions of the inventory."""
    return {"talos": site.cluster.talos_version, "kubernetes": site.cluster.kubernetes_version}


async def see(site: Site, at: datetime) -> Seen:
    """All that `judge` needs, with every finding of every check."""
    cluster = Connections(site, site.secrets)
    async with cluster.one_look():
        checks, talos, kubernetes, expiring, pause, saved = await asyncio.gather(
            run_checks(verify_checks(cluster)),
            _talos(cluster),
            _kubernetes(cluster),
            _certificates(cluster),
            _pause(site),
            run_checks([Check("backups", lambda: backups.look(site))]),
        )
        nodes, why = kubernetes
        running = versions_of((n, _kubelet(node)) for n, node in (nodes or {}).items())
        differ = {*talos.values(), *running.values()} - {*wanted_of(site).values()}
        left = await left_to_tuppr(cluster) if differ else frozenset[str]()
    return Seen(
        masked(checks, site.redact),
        talos,
        running,
        expiring,
        None if nodes is None else _marks(nodes),
        () if nodes is None else _cordoned(nodes),
        compared=_compared(site),
        running=await in_progress(site),
        pause=pause,
        window=_window(site, at),
        last=_last(site),
        backups=masked(saved, site.redact)[0].findings,
        left=left,
        unread={"kubernetes": why} if why else {},
    )


async def _talos(cluster: Connections) -> dict[str, str]:
    try:
        answers = await cluster.ask(cluster.site.cluster.nodes, lambda talos: talos.version())
    except TalopsError:
        return {}
    return {name: version.tag for name, version in values_of(answers).items()}


async def _kubernetes(cluster: Connections) -> tuple[dict[str, Object] | None, str]:
    try:
        return await cluster.kube_nodes(), ""
    except TalopsError as error:
        return None, str(error)


async def _certificates(cluster: Connections) -> dict[str, datetime]:
    """Those that an operator has to renew, and the API server's that ends first."""
    try:
        found, _ = await certificates.expiries(cluster)
    except TalopsError:
        return {}
    named: dict[str, datetime] = {}
    for each in found:
        for word, title in (("kubeconfig", "kubeconfig"), ("talosconfig", "talosconfig")):
            if word in each.name:
                named[title] = each.at
        if "API server" in each.name:
            named["API server"] = min(each.at, named.get("API server", each.at))
        if each.name.endswith(" CA"):
            named["CAs"] = min(each.at, named.get("CAs", each.at))
    return named


async def _pause(site: Site) -> str:
    try:
        found = await read_pause(site)
    except TalopsError as error:
        return str(error)
    return str(found) if found else ""


def _kubelet(node: Object) -> str:
    return str(((node.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion") or "")


def _marks(nodes: dict[str, Object]) -> dict[str, str]:
    return {name: _told(mark) for name, node in nodes.items() if (mark := mark_of(node))}


def _told(mark: Mark) -> str:
    done = [word for word in ("cordoned", "drained") if getattr(mark, word)]
    return f"{mark.reason} ({', '.join(done) or 'begun'})"


def _cordoned(nodes: dict[str, Object]) -> Sequence[str]:
    return [name for name, node in nodes.items() if is_cordoned(node) and mark_of(node) is None]


def _compared(site: Site) -> Comparison | None:
    """The newest of `up`, `plan` and `drift`."""
    found = [read_comparison(site.root)]
    run = next(
        (r for r in _runs(site) if r.info.command in COMPARING and r.status in DIFFERS), None
    )
    if run and run.ended:
        ended = datetime.fromisoformat(run.ended)
        found.append(Comparison(ended, run.info.command, DIFFERS[run.status]))
    return max(filter(None, found), key=lambda each: each.at, default=None)


async def in_progress(site: ClosedSite) -> str:
    """The run of this directory, or the one that holds the lock beside shared states."""
    lock = site.root / ".talops" / "lock"
    holder = read_holder(lock) if is_held(lock) else None
    if holder or site.cluster.state.kind == "local":
        return str(holder) if holder else ""
    backend = backend_of(site)
    try:
        found = await backend.overview()
    except TalopsError as error:
        return f"the run lock of the shared states cannot be read: {error.what}"
    finally:
        await backend.close()
    name = lock_name(site.cluster.name)
    held = next((each.lock for each in found if each.name == name and each.lock), None)
    return str(read_shared(dict(held))) if held else ""


def _last(site: Site) -> PastRun | None:
    """The last run that was to change something."""
    return next(
        (r for r in _runs(site) if r.info.command != "plan" and r.status != "running"), None
    )


def _runs(site: Site) -> list[PastRun]:
    return list_runs(site.root / ".talops")


def _window(site: Site, at: datetime) -> str:
    maintenance = site.cluster.maintenance
    return str(window_state(maintenance, at)) if maintenance else ""
