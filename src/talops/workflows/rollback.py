"""`talops rollback`: one node returns to the system before its last upgrade."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.rolls.options import DEFAULT, RollOptions
from talops.rolls.rolling import Rolling
from talops.stages.rolling.roll_back import RollBack

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.record import Record
    from talops.pipeline.stage import AnyStage
    from talops.site.site import Site


def rollback(
    site: Site, record: Record, node: Node, options: RollOptions = DEFAULT
) -> list[AnyStage]:
    """Through the roll, as every restart of a node."""
    return [
        RollBack(site, node, site.secrets, record.report("rollback"), Rolling(site, options)),
    ]
