"""The same suite against every API of a TrueNAS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.truenas.nas import NEW, OLD, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.truenas.nas import Nas


@pytest.fixture(params=[OLD, NEW])
async def nas(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Nas]:
    async with running(tmp_path / "lab", request.param) as found:
        yield found
