"""Backups: the last good one and the last restore drill are younger than the inventory demands."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.backups.ages import judge, read_ages
from talops.backups.opening import open_store
from talops.backups.signing import Signer
from talops.errors import TalopsError
from talops.pipeline.checks import unproven

if TYPE_CHECKING:
    from talops.pipeline.checks import Finding
    from talops.site.site import Site


async def look(site: Site) -> list[Finding]:
    """A store that does not answer is a failure only if the inventory has a bound."""
    bounds = site.cluster.backup
    try:
        signer = Signer((await site.secrets.require()).cluster_secret)
        ages = await read_ages(open_store(site), signer)
    except TalopsError as error:
        if bounds.max_age or bounds.drill:
            raise
        return [unproven(error.what, error.where, error.hint)]
    return judge(ages, bounds, datetime.now(UTC))
