"""What runs, what is wanted, the next hops, and what blocks them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.web.documents import VERSION
from talops.web.documents.ages import age_of, stamp

if TYPE_CHECKING:
    from datetime import datetime

    from talops.app.upgrades.versions import Versions
    from talops.web.watching.panel import Panel


def versions(cluster: str, panel: Panel, world: Panel, now: datetime) -> dict[str, Any]:
    found: Versions | None = panel.value
    kubelets = {n.name: n.kubelet for n in world.value.nodes.values()} if world.value else {}
    data = found.as_dict() if found else {"parts": [], "nodes": [], "path": [], "refusals": []}
    nodes = [{**node, "kubelet": kubelets.get(node["name"]) or None} for node in data["nodes"]]
    return {
        "version": VERSION,
        "cluster": cluster,
        "parts": data["parts"],
        "nodes": nodes,
        "path": data["path"],
        "refusals": data["refusals"],
        "untested": list(found.path.untested) if found else [],
        "ages": [age_of(panel, now), age_of(world, now)],
        "time": stamp(now),
    }
