"""Refusals of a plan of nodes, as one error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.nodeplan.steps import Refusal


def refused(found: Sequence[Refusal]) -> ConflictError:
    """Every reason, and the safe ways as its hint."""
    return ConflictError(
        "refused to change nodes; nothing was changed:\n  "
        + "\n  ".join(dict.fromkeys(each.what for each in found)),
        where="nodes.yaml",
        hint="; ".join(dict.fromkeys(each.safe for each in found)),
    )
