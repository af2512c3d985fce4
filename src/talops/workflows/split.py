"""`talops secrets split`: the cluster gets an age identity that opens only what Flux applies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.stages.keys.add_key import AddKey
from talops.stages.keys.identity import ClusterIdentity
from talops.stages.keys.recipients import Recipients
from talops.stages.keys.release import Release

if TYPE_CHECKING:
    from talops.pipeline.record import Record
    from talops.pipeline.stage import AnyStage
    from talops.site.site import Site


def split(site: Site, record: Record, *, rotate: bool) -> list[AnyStage]:
    """In this order, Flux can decrypt at every moment, also if the run is killed."""
    report = record.report
    return [
        ClusterIdentity(site, site.redact.learn, rotate=rotate),
        AddKey(site, report("add-key")),
        Recipients(site, report("recipients")),
        Release(site, report("release")),
    ]
