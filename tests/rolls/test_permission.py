"""Whether a plan may be applied now: pauses and maintenance windows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from talops.app import pauses
from talops.approval import Impact
from talops.errors import TalopsError
from talops.inventory.operating import Maintenance
from talops.pipeline.planning import Plan, StagePlan
from talops.pipeline.stage import Change
from talops.rolls.options import DEFAULT, RollOptions
from talops.rolls.permission import permit, refusal
from talops.site.site import ClosedSite
from talops.site.state.pausing import RECORD

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Example

NOW = datetime(2026, 11, 19, 12, 0, tzinfo=UTC)  # a Thursday
SUNDAYS = Maintenance.model_validate(
    {"windows": [{"days": ["sun"], "start": "02:00", "end": "05:00"}]}
)
NEVER_NOW = Maintenance.model_validate(
    {"windows": [{"days": [d], "start": "02:00", "end": "02:01"} for d in ("mon", "thu")]}
)


class Restart(Change):
    @property
    def impact(self) -> Impact:
        return Impact.RESTARTS


def plan(*changes: Change) -> Plan:
    stage: Any = None
    return Plan((StagePlan(stage, changes),))


@pytest.fixture
def site(example: Example, tmp_path: Path) -> ClosedSite:
    return ClosedSite(replace(example("dev"), maintenance=SUNDAYS), tmp_path, {}, {})


async def test_windows(site: ClosedSite) -> None:
    """Outside of them only --now disrupts something; the error says when the next one opens."""
    refused = await refusal(site, DEFAULT, NOW)
    assert refused
    assert "opens Sun 2026-11-22 02:00 UTC" in refused.what
    assert refused.hint
    assert "--now" in refused.hint
    assert await refusal(site, RollOptions(now=True), NOW) is None
    assert await refusal(site, DEFAULT, datetime(2026, 11, 22, 3, 0, tzinfo=UTC)) is None
    free = replace(site, cluster=replace(site.cluster, maintenance=None))
    assert await refusal(free, DEFAULT, NOW) is None


async def test_what_disrupts_nothing_needs_no_window(site: ClosedSite) -> None:
    """Files, new nodes and configs without a reboot are applied at any time."""
    await permit(site, DEFAULT, plan(Change("write", "files")))


async def test_refused_with_names(site: ClosedSite) -> None:
    """Who would be disrupted, and that nothing was changed."""
    await pauses.pause(site, "quarter end")
    with pytest.raises(TalopsError, match=r"quarter end; nothing was changed.*disrupt w-1") as no:
        await permit(site, RollOptions(now=True), plan(Restart("restart", "w-1")))
    assert no.value.hint == "talops resume"


async def test_pause_and_resume(site: ClosedSite) -> None:
    """The first pause stays; a broken record holds until it is resumed."""
    first = await pauses.pause(site, "first")
    assert (await pauses.pause(site, "second")).pause == first.pause
    assert (await pauses.resume(site)) == first.pause
    assert await pauses.resume(site) is None
    (site.root / RECORD).write_text("{", encoding="utf-8")
    with pytest.raises(TalopsError, match="cannot be read"):
        await refusal(site, RollOptions(now=True), NOW)
    await pauses.resume(site)
    assert await refusal(site, RollOptions(now=True), NOW) is None
