"""A browser for the tests of the page, fetched once and only if a test asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conftest import _outside_the_time_limit
from tests.web import tools

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def chromium() -> Path:
    """The program, on PATH or from npm."""
    return _outside_the_time_limit(tools.chromium)


@pytest.fixture(scope="session")
def axe() -> str:
    """The script that judges a page."""
    _outside_the_time_limit(tools.axe_file)
    return tools.axe_file().read_text(encoding="utf-8")
