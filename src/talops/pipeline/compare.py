"""Compare two runs."""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.pipeline.history import PastRun


@dataclass(frozen=True)
class Difference:
    """One value that differs between the two runs; None if a run does not have it."""

    what: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Comparison:
    before: str
    after: str
    differences: tuple[Difference, ...]
    # Artifact → unified diff of its text.
    artifacts: Mapping[str, str]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def compare(before: PastRun, after: PastRun) -> Comparison:
    old, new = _facts(before), _facts(after)
    keys = [*old, *(key for key in new if key not in old)]
    differences = tuple(
        Difference(key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key)
    )
    return Comparison(before.info.id, after.info.id, differences, _artifact_diffs(before, after))


def _facts(run: PastRun) -> dict[str, str]:
    facts = {"command": run.info.command, "status": run.status, "talops": run.info.talops}
    facts |= {f"tool {name}": version for name, version in run.info.tools.items()}
    facts |= {f"inventory {name}": value[:12] for name, value in run.info.inventory.items()}
    for stage in run.stages:
        facts[f"stage {stage.stage}"] = stage.status
        facts |= {f"change {stage.stage}: {change}": "made" for change in stage.changes}
    return facts


def _artifact_diffs(before: PastRun, after: PastRun) -> dict[str, str]:
    names = sorted({*map(str, before.artifacts()), *map(str, after.artifacts())})
    texts = {name: _unified(name, before, after) for name in names}
    return {name: text for name, text in texts.items() if text}


def _unified(name: str, before: PastRun, after: PastRun) -> str:
    old, new = _lines(before, name), _lines(after, name)
    labels = (f"{before.info.id}/{name}", f"{after.info.id}/{name}")
    return "\n".join(difflib.unified_diff(old, new, *labels, lineterm=""))


def _lines(run: PastRun, name: str) -> list[str]:
    try:
        return (run.path / "artifacts" / name).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
