"""What Prometheus reads: health, drift, days left, ages, versions and results of runs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.views.status import Level
from talops.visible import visible
from talops.web.documents.overview import harms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from talops.pipeline.history import PastRun
    from talops.web.watching.panel import Panel
    from talops.web.watching.site import WatchedSite

Labels = dict[str, str]
# Name → type and help; docs/web.md lists them.
METRICS = {
    "talops_up": ("gauge", "1 if the last look of this kind succeeded, 0 if it did not."),
    "talops_look_age_seconds": ("gauge", "Age of the values of the last successful look."),
    "talops_findings": ("gauge", "Findings of the overview by level: bad, unknown, notice."),
    "talops_check_failed": ("gauge", "1 if a check of talops verify fails or is unproven."),
    "talops_drift_differences": ("gauge", "Differences from the inventory by layer."),
    "talops_node_info": ("gauge", "Versions that a node runs; always 1."),
    "talops_node_ready": ("gauge", "1 if Kubernetes reports the node as ready."),
    "talops_certificate_days_left": ("gauge", "Days until a certificate or token expires."),
    "talops_backup_age_seconds": ("gauge", "Age of the newest usable backup."),
    "talops_etcd_size_bytes": ("gauge", "Size of the database of an etcd member."),
    "talops_etcd_leader": ("gauge", "1 for the member that leads etcd."),
    "talops_run_seconds": ("gauge", "Duration of the last run of each command that has ended."),
    "talops_run_success": ("gauge", "1 if the last run of each command succeeded, 0 if not."),
}
SUCCEEDED = frozenset({"done", "unchanged", "differences"})


def metrics(sites: Sequence[WatchedSite], now: datetime) -> str:
    """In the text format; samples of a metric are together, as the format demands."""
    found: dict[str, list[str]] = {name: [] for name in METRICS}
    for site in sites:
        for name, labels, value in _samples(site, now):
            pairs = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
            found[name].append(f"{name}{{{pairs}}} {value:g}")
    lines = []
    for name, samples in found.items():
        kind, text = METRICS[name]
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", *samples]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _samples(site: WatchedSite, now: datetime) -> Iterator[tuple[str, Labels, float]]:
    cluster = site.inventory()
    me = {"cluster": site.name}
    panels = site.panels
    for panel in panels.values():
        yield from _ages(me, panel, now)
    wanted = {"talos": cluster.talos_version, "kubernetes": cluster.kubernetes_version}
    levels = [harm.level for harm in harms(cluster.name, wanted, panels, now)]
    for level in (Level.BAD, Level.UNKNOWN, Level.NOTICE):
        yield "talops_findings", {**me, "level": str(level)}, levels.count(level)
    for check in panels["status"].value.checks if panels["status"].value else ():
        wrong = str(check.verdict) in {"failed", "unproven"}
        yield "talops_check_failed", {**me, "check": check.name}, wrong
    for area in panels["drift"].value or ():
        if not area.unread:
            labels = {**me, "layer": area.layer}
            yield "talops_drift_differences", labels, len(area.differences)
    yield from _world(me, panels["world"])
    yield from _calendar(me, panels["credentials"], now)
    yield from _runs(me, site.records.list)


def _ages(me: Labels, panel: Panel, now: datetime) -> Iterator[tuple[str, Labels, float]]:
    labels = {**me, "look": panel.name}
    if panel.tried:
        yield "talops_up", labels, panel.error is None
    if panel.looked:
        yield "talops_look_age_seconds", labels, (now - panel.looked).total_seconds()


def _world(me: Labels, panel: Panel) -> Iterator[tuple[str, Labels, float]]:
    """Of nodes that answered: what is not known has no sample."""
    world: Any = panel.value
    for node in world.nodes.values() if world else ():
        labels = {**me, "node": node.name}
        if node.talos or node.kubelet:
            versions = {"talos": node.talos, "kubelet": node.kubelet}
            yield "talops_node_info", {**labels, **versions}, 1
        if node.ready is not None:
            yield "talops_node_ready", labels, node.ready
    for member in world.etcd if world else ():
        labels = {**me, "node": member.node}
        yield "talops_etcd_size_bytes", labels, member.size
        yield "talops_etcd_leader", labels, member.leader


def _calendar(me: Labels, panel: Panel, now: datetime) -> Iterator[tuple[str, Labels, float]]:
    found: Any = panel.value
    if not found:
        return
    for each in found.credentials:
        if each.expires:
            days = (each.expires - now).total_seconds() / 86400
            labels = {**me, "name": each.name, "where": each.where}
            yield "talops_certificate_days_left", labels, round(days, 2)
    created = [b.manifest.created for b in found.backups if b.usable and b.manifest]
    if created:
        yield "talops_backup_age_seconds", me, (now - max(created)).total_seconds()


def _runs(me: Labels, runs: Sequence[PastRun]) -> Iterator[tuple[str, Labels, float]]:
    """Newest first; a run that was killed has no duration, and did not succeed."""
    seen: set[str] = set()
    for run in runs:
        command = run.info.command
        if run.status == "running" or command in seen:
            continue
        seen.add(command)
        labels = {**me, "command": command}
        yield "talops_run_success", labels, run.status in SUCCEEDED
        if run.seconds is not None:
            yield "talops_run_seconds", labels, run.seconds
