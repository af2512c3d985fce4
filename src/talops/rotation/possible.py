"""Whether a rotation can be graceful, and otherwise what would break. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import ConflictError
from talops.machineconfig.contract import Contract
from talops.machineconfig.from_inventory import contract_of
from talops.machineconfig.secrets.rotating import AUTHORITIES, Rotated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.machineconfig.secrets.bundle import Bundle
    from talops.site.site import Site

_BREAKS = {
    Rotated.SERVICE_ACCOUNT: (
        "Talos accepts only one service account key up to contract 1.13: the tokens of all pods "
        "would become invalid at the same moment, until every pod is restarted"
    ),
    Rotated.ENCRYPTION: (
        "Talos renders only one secretbox key up to contract 1.13: no API server could read the "
        "Secrets that the old one has encrypted, and none could be written again"
    ),
}


def require_possible(site: Site, bundle: Bundle, wanted: Iterable[Rotated]) -> None:
    contract = contract_of(site.cluster, bundle.contract)
    if contract.splits_documents:
        return
    for rotated in wanted:
        if rotated not in AUTHORITIES:
            raise ConflictError(
                f"the {rotated} cannot be rotated without an outage: {_BREAKS[rotated]}",
                where=f"contract {contract}",
                hint=f"set talos_contract: v{Contract.V1_14} in cluster.yaml and run talops up, "
                "then rotate",
            )
