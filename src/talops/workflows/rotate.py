"""`talops rotate`: replace CAs and keys of a running cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.stages.rotation.rotate import Rotate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.machineconfig.secrets.rotating import Rotated
    from talops.pipeline.record import Record
    from talops.pipeline.stage import AnyStage
    from talops.site.site import Site


def rotate(
    site: Site, record: Record, rotated: Sequence[Rotated], *, restart_pods: bool
) -> list[AnyStage]:
    return [Rotate(site, rotated, record.report("rotate"), restart_pods=restart_pods)]
