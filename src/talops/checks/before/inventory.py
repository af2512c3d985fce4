"""The warnings of `talops check` about the two files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.inventory.load import load
from talops.pipeline.checks import failed, passed, warning
from talops.plural import count
from talops.problems import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.checks.before.basis import Ground
    from talops.pipeline.checks import Finding
    from talops.problems import FileProblem


async def look(ground: Ground) -> list[Finding]:
    nodes = count(len(ground.cluster.nodes), "node")
    return judge(load(ground.root).problems, f"cluster {ground.cluster.name}, {nodes}")


def judge(problems: Sequence[FileProblem], name: str) -> list[Finding]:
    makers = {Severity.ERROR: failed, Severity.WARNING: warning}
    found = [
        makers[problem.severity](problem.what, str(problem.where), problem.hint)
        for problem in problems
        if problem.severity in makers
    ]
    return found or [passed(name)]
