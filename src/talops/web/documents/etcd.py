"""etcd: members, size against quota, fragmentation, alarms. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from talops.web.documents import VERSION
from talops.web.documents.ages import age_of, stamp

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from talops.app.world.model import World
    from talops.web.watching.panel import Panel


def etcd(
    cluster: str, panel: Panel, leaders: Sequence[tuple[datetime, str]], now: datetime
) -> dict[str, Any]:
    """`leaders`: who led, from when on, since this server was started."""
    found: World | None = panel.value
    members = found.etcd if found else ()
    return {
        "version": VERSION,
        "cluster": cluster,
        "leader": (found.leader if found else "") or None,
        "members": [{**asdict(each), "fragmented": round(each.fragmented, 3)} for each in members],
        "leaders": [{"at": stamp(at), "node": node} for at, node in leaders],
        "ages": [age_of(panel, now)],
        "time": stamp(now),
    }
