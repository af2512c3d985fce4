"""The warnings of `talops check` about the two files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.inventory.load import load
from talops.pipeline.checks import failed, passed, warning
from talops.plural import count
from talops.problems import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.checks import Finding
    from talops.problems import FileProblem
    from talops.site.site import ClosedSite


async def look(site: ClosedSite) -> list[Finding]:
    nodes = count(len(site.cluster.nodes), "node")
    return judge(load(site.root).problems, f"cluster {site.cluster.name}, {nodes}")


def judge(problems: Sequence[FileProblem], name: str) -> list[Finding]:
    makers = {Severity.ERROR: failed, Severity.WARNING: warning}
    found = [
        makers[problem.severity](problem.what, str(problem.where), problem.hint)
        for problem in problems
        if problem.severity in makers
    ]
    return found or [passed(name)]
