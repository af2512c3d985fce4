"""A destroyed layer leaves no local state behind, unless that is to be kept."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.stages.test_salvage import MAIN, Place

from talops.errors import NotApprovedError, TalopsError
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


async def test_what_came_after_the_question_stays(
    tmp_path: Path, tool: Callable[[str], Path]
) -> None:
    """Another run made one more resource meanwhile: it was not shown, so nothing is destroyed."""
    place = Place(tmp_path, tool("tofu"))
    found = stage(place, keep_state=True)
    facts = await found.observe()
    (change,) = found.plan(facts)
    more = '\nresource "terraform_data" "two" { input = 2 }\n'
    (place.layer / "main.tf").write_text(MAIN + more, encoding="utf-8")
    command = [str(place.engine), "apply", "-auto-approve", "-input=false"]
    done = await asyncio.create_subprocess_exec(*command, cwd=place.layer, stdout=DEVNULL)
    assert await done.wait() == 0
    with pytest.raises(NotApprovedError, match=r"two would now change \(destroys: "):
        await found.apply(change)
    assert (await found.observe()).listed[change.target] == (
        "terraform_data.one",
        "terraform_data.two",
    )
