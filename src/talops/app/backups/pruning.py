"""Select and remove backups, and print what makes them regular."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.backups.cronjob import Target
    from talops.backups.retention import Selection
    from talops.site.site import ClosedSite, Site


CRONJOB = "cronjob"


async def selection(site: Site) -> Selection:
    from talops.backups.opening import open_store
    from talops.backups.pruning import select
    from talops.backups.signing import Signer

    signer = Signer((await site.secrets.require()).cluster_secret)
    return await select(open_store(site), signer, site.cluster.backup.keep, datetime.now(UTC))


async def prune(site: Site, chosen: Selection, *, unusable: bool) -> int:
    """The number of removed backups; what interrupted commands left behind is removed, too."""
    from talops.backups.opening import open_store
    from talops.backups.pruning import remove

    store = open_store(site)
    ids = [*chosen.removed, *([each.id for each in chosen.unusable] if unusable else [])]
    await remove(store, ids)
    await store.sweep()
    return len(ids)


def schedule(site: ClosedSite, way: str, at: str, program: str) -> str:
    from talops.backups.cronjob import cronjob
    from talops.backups.scheduling import WAYS, Plan
    from talops.secrets.init import KEY_FILE

    if way not in {*WAYS, CRONJOB}:
        hint = f"write one of {', '.join((*WAYS, CRONJOB))}"
        raise TalopsError(f"{way!r} is not a schedule", hint=hint)
    found = Path(program)
    absolute = found if found.is_absolute() else Path(sys.executable).with_name("talops")
    key = Path(site.environment.get("SOPS_AGE_KEY_FILE") or site.root / KEY_FILE)
    plan = Plan(
        cluster=site.cluster.name,
        root=site.root,
        program=str(absolute),
        at=at,
        key_file=site.root / key,
        remote="://" in site.cluster.backup.store,
    )
    if way == CRONJOB:
        return cronjob(_target(site, site.root / key), *plan.hour_and_minute)
    return WAYS[way](plan)


def _target(site: ClosedSite, key: Path) -> Target:
    """For the age key of this directory, if it can be read: adopting needs it."""
    from talops.backups.cronjob import Target
    from talops.machineconfig.contract import Contract
    from talops.machineconfig.places import SEALED
    from talops.secrets.age import load_keys
    from talops.secrets.rules import FILE, load_rules

    rules = load_rules(site.root)
    readers = sorted((rules.recipients_for(SEALED) if rules else None) or ())
    if not readers:
        raise TalopsError(
            "no rule says who can read backups", where=FILE, hint="talops secrets init"
        )
    own = load_keys(key)
    backup = site.cluster.backup
    return Target(
        cluster=site.cluster.name,
        contract=Contract(site.cluster.talos_contract.removeprefix("v")),
        store=backup.store,
        region=backup.region or "",
        endpoint=backup.endpoint or "",
        recipient=next((r for r in readers if own and r in own.recipients), readers[0]),
    )
