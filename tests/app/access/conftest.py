"""A cluster with secrets, as files and as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from talops.inventory.load import load
from talops.machineconfig.secrets import bundle as bundles

if TYPE_CHECKING:
    from talops.inventory.model import Cluster
    from talops.machineconfig.secrets.bundle import Bundle

EXAMPLES = Path(__file__).parents[3] / "examples"


@dataclass(frozen=True)
class Home:
    root: Path
    cluster: Cluster
    bundle: Bundle


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return bundles.generate(datetime.now(UTC))


@pytest.fixture
def home(tmp_path: Path, bundle: Bundle) -> Home:
    """The `dev` example with plain secrets."""
    for name in ("cluster.yaml", "nodes.yaml"):
        (tmp_path / name).write_text((EXAMPLES / "dev" / name).read_text(encoding="utf-8"))
    (tmp_path / "talos").mkdir()
    (tmp_path / "talos" / "talsecret.yaml").write_text(bundle.to_yaml())
    return Home(tmp_path, load(tmp_path).require(), bundle)
