"""Whether a plan may be applied now: pauses and maintenance windows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from talops.app import pauses
from talops.app.infra.health import watched
from talops.app.infra.layers import OpenLayers, Order
from talops.approval import Impact, Item
from talops.errors import TalopsError
from talops.inventory.operating import Maintenance
from talops.pipeline.planning import Plan, StagePlan
from talops.pipeline.stage import Change, Reporter
from talops.rolls.options import DEFAULT, RollOptions
from talops.rolls.permission import NotNowError, permit, refusal
from talops.rolls.rolling import Rolling
from talops.site.site import ClosedSite, Site
from talops.site.state.pausing import RECORD
from talops.tofu.policy import Policy
from talops.upgrades.changes import of_kubernetes
from talops.upgrades.path import Hop, Part

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


async def test_upgrade_of_kubernetes_is_held_back(site: ClosedSite) -> None:
    """It stops no node, but it waits for a window: before it begins, and between its steps."""
    hop = of_kubernetes(Hop(Part.KUBERNETES, "v1.35.4", "v1.36.3"))
    await pauses.pause(site, "quarter end")
    with pytest.raises(NotNowError, match=r"quarter end; .*disrupt Kubernetes v1\.35\.4"):
        await permit(site, DEFAULT, plan(hop))
    nothing: Any = None
    whole = Site(site.cluster, site.root, {}, {}, nothing, site.root, site.root)
    roller, report = Rolling(whole).roller, Reporter("upgrade", lambda _: None)
    with pytest.raises(NotNowError, match="quarter end"):
        await roller.pass_gates(report)
    with pytest.raises(
        TalopsError, match=r"the roll has stopped; first failure: upgrade: .*paused"
    ):
        await roller.pass_gates(report)


async def test_infra_apply_is_held_back(site: ClosedSite) -> None:
    """As `up`, also before the cluster has secrets; a destroy is not."""
    nothing: Any = None
    closed = replace(site.cluster, maintenance=NEVER_NOW)
    run = OpenLayers(site.root, (), site.root, lambda _: None, closed, {}, {})
    restart = Item("vm.w-1", Impact.RESTARTS, "w-1")
    held = await watched(run, Order(Policy()), nothing, nothing)
    with pytest.raises(NotNowError, match=r"no maintenance window is open.*disrupt w-1"):
        await held.permit([restart])
    await held.permit([Item("vm.w-2", Impact.CREATES, "w-2")])
    now = await watched(run, Order(Policy()), nothing, nothing, now=True)
    await now.permit([restart])
    await pauses.pause(site, "quarter end")
    with pytest.raises(NotNowError, match="quarter end"):
        await now.permit([restart])
    destroy = await watched(run, Order(Policy(), destroy=True), nothing, nothing)
    await destroy.permit([restart])
