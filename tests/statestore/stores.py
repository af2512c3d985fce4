"""The kinds of stores, for tests that hold all of them to the same."""

from __future__ import annotations

import pytest

STORES = [
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.slow),
    pytest.param("s3", marks=pytest.mark.slow),
]
