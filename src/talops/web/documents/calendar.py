"""What ends and when: certificates, tokens, support, backups and drills. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from talops.views.status import Level
from talops.web.documents import VERSION
from talops.web.documents.ages import age_of, stamp
from talops.web.documents.overview import OF_VERDICT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.app.access.model import Credential
    from talops.app.upgrades.versions import PartVersions, Versions
    from talops.web.watching.looks import Calendar
    from talops.web.watching.panel import Panel

_LEVELS = {"good": "good", "due": "notice", "expired": "bad", "unknown": "unknown"}
SOON = 90
MOST_BACKUPS = 20


def calendar(
    cluster: str, panel: Panel, versions: Panel, status: Panel, now: datetime
) -> dict[str, Any]:
    found: Calendar | None = panel.value
    entries = [_credential(each, now) for each in found.credentials] if found else []
    entries += _support(versions.value, now)
    entries.sort(key=lambda entry: (entry["at"] is None, entry["at"] or ""))
    return {
        "version": VERSION,
        "cluster": cluster,
        "entries": entries,
        "backups": [
            {
                "id": b.id,
                "created": stamp(b.manifest.created) if b.manifest else None,
                "size": b.manifest.sealed.size if b.manifest else None,
                "problem": b.problem or None,
            }
            for b in (found.backups[:MOST_BACKUPS] if found else ())
        ],
        "recovery": list(_recovery(status)),
        "ages": [age_of(panel, now), age_of(versions, now), age_of(status, now)],
        "time": stamp(now),
    }


def _credential(each: Credential, now: datetime) -> dict[str, Any]:
    days = (each.expires - now).days if each.expires else None
    return {
        "name": each.name,
        "kind": str(each.kind),
        "where": each.where,
        "at": stamp(each.expires),
        "days": days,
        "level": _LEVELS[str(each.level(now))],
        "renewed_by": each.renews,
        "how": each.how,
        "unread": each.unread or None,
    }


def _support(found: Versions | None, now: datetime) -> Iterator[dict[str, Any]]:
    for part in (found.talos, found.kubernetes) if found else ():
        yield _end(part, now)


def _end(part: PartVersions, now: datetime) -> dict[str, Any]:
    running = part.running.low if part.running else part.wanted
    at = datetime.fromisoformat(part.ends).replace(tzinfo=UTC) if part.ends else None
    days = (at - now).days if at else None
    level = Level.BAD if days is None or days < 0 else Level.NOTICE if days < SOON else Level.GOOD
    return {
        "name": f"support of {part.part} {running}",
        "kind": "support",
        "where": "",
        "at": stamp(at),
        "days": days,
        "level": str(level),
        "renewed_by": "you",
        "how": "talops versions",
        "unread": None,
    }


def _recovery(status: Panel) -> Iterator[dict[str, Any]]:
    """What `verify` says about the age of the last backup and of the last drill."""
    for finding in status.value.backups if status.value else ():
        yield {
            "level": str(OF_VERDICT.get(finding.verdict, Level.GOOD)),
            "what": finding.what,
            "command": finding.hint,
        }
