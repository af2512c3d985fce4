"""`talops reset`: remove one node from the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.stages.destroy_one import DestroyOne
from talops.stages.forget_one import ForgetOne
from talops.stages.reset_one import ResetOne

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.record import Record
    from talops.pipeline.stage import AnyStage
    from talops.site.site import Site


def reset(site: Site, record: Record, node: Node, *, force: bool, keep_vm: bool) -> list[AnyStage]:
    """The node leaves the cluster, its VM and Node object are removed; `up` recreates it."""
    secrets, report = site.secrets, record.report
    with_vm = node.vm and not keep_vm
    return [
        ResetOne(site, node, secrets, report("reset"), force=force),
        *([DestroyOne(site, node, secrets, report("destroy"), force=force)] if with_vm else []),
        ForgetOne(site, node, secrets, report("forget")),
    ]
