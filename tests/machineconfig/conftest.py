"""One set of throw-away secrets for all tests of a worker: an RSA key of 4096 bits is not cheap."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from talops.machineconfig import bundle as bundles

if TYPE_CHECKING:
    from talops.machineconfig.bundle import Bundle

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(scope="session")
def now() -> datetime:
    return NOW


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return bundles.generate(NOW)
