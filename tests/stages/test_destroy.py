"""A destroyed layer leaves no local state behind, unless that is to be kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.stages.test_salvage import Place

from talops.errors import TalopsError
from talops.pipeline.stage import Reporter, Seen
from talops.stages.destroy import Destroy, Facts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow


def stage(place: Place, *, keep_state: bool) -> Destroy:
    state = replace(place.cluster.state, kind="local")
    place.cluster = replace(place.cluster, state=state)
    site: Any = place
    report = Reporter("destroy", lambda _: None)
    return Destroy(site, report, every_layer=False, keep_state=keep_state)


def states(place: Place) -> list[str]:
    return sorted(path.name for path in place.layer.glob("terraform.tfstate*"))


async def done(found: Destroy) -> list[str]:
    """Apply what is planned; what that was."""
    facts = await found.observe()
    changes = found.plan(facts)
    for change in changes:
        await found.apply(change)
    await found.verify(Seen(facts, tuple(changes)))
    return [change.action for change in changes]


async def test_the_emptied_state_goes(tmp_path: Path, tool: Callable[[str], Path]) -> None:
    """With the layer; or as a change of its own, where an earlier run left it."""
    place = Place(tmp_path, tool("tofu"))
    kept = stage(place, keep_state=True)
    with pytest.raises(TalopsError, match="still lists 1 resource:"):
        await kept.verify(Seen(Facts({})))
    assert "terraform.tfstate" in states(place), "a proof removes nothing"
    assert await done(kept) == ["destroy"]
    assert "terraform.tfstate" in states(place)
    assert await done(kept) == []
    assert await done(stage(place, keep_state=False)) == ["remove"]
    assert states(place) == []
    assert await done(stage(place, keep_state=False)) == []


async def test_a_destroyed_layer_takes_its_state_along(
    tmp_path: Path, tool: Callable[[str], Path]
) -> None:
    """One change, and nothing is left of it."""
    place = Place(tmp_path, tool("tofu"))
    assert await done(stage(place, keep_state=False)) == ["destroy"]
    assert states(place) == []
