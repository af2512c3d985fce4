"""A rotation from its beginning to its end, on nodes of the lab."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rotation.conftest import BOTH, refuses_the_old
from tests.rotation.killing import foreign_up, killed_at

if TYPE_CHECKING:
    import contextlib
    import random
    from collections.abc import Callable

    from tests.rotation.conftest import Rotating

    Start = Callable[..., contextlib.AbstractAsyncContextManager[Rotating]]

SAMPLES = 2
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.sampled("rotations")
async def test_killed_and_continued(rotating: Start, rng: random.Random) -> None:
    """`kill -9` at events of the whole rotation, an `up` of someone else in between: it finishes,
    the old CAs are refused, and secrets and nodes agree.
    """
    async with rotating("cp-1", "w-1") as cluster:
        before = cluster.bundle
        for _ in range(SAMPLES):
            await killed_at(cluster, rng.randrange(20, 60), "rotate", "all")
            await foreign_up(cluster)
        done = await cluster.rotate(*BOTH)
        assert done.error is None, done.error
        await refuses_the_old(cluster, before)
