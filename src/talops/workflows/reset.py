"""`talops reset`: remove one node from the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.stages.destroy_one import DestroyOne
from talops.stages.forget_one import ForgetOne
from talops.stages.reset_one import ResetOne
from talops.workflows.common import begin

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.session import Recorder
    from talops.pipeline.stage import AnyStage
    from talops.site.site import Site


def reset(
    site: Site, recorder: Recorder, node: Node, *, force: bool, keep_vm: bool
) -> list[AnyStage]:
    """The node leaves the cluster, its VM and Node object are removed; `up` recreates it."""
    begun = begin(site, recorder)
    secrets, report = begun.secrets, begun.report
    with_vm = node.vm and not keep_vm
    return [
        ResetOne(site, node, secrets, report("reset"), force=force),
        *([DestroyOne(site, node, secrets, report("destroy"), force=force)] if with_vm else []),
        ForgetOne(site, node, secrets, report("forget")),
    ]
