"""All that talops renders is within what the stand-in knows."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.lab_provider.conftest import REAL_MIRROR
from tests.render.test_golden import CASES, rendered

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lab_provider.conftest import Workspace

pytestmark = pytest.mark.slow


# The ones with the most kinds of things in them; all of them where the real provider judges too.
SAMPLE = ["gpu", "secureboot", "template", "two-hosts"]


@pytest.mark.parametrize("case", CASES if REAL_MIRROR in os.environ else SAMPLE)
def test_every_layer_is_valid(case: str, workspace: Workspace, tmp_path: Path) -> None:
    """`tofu validate` with the provider's own schema has nothing to say."""
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    for path, text in rendered(case, source).items():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    layers = sorted({file.parent for file in target.rglob("*.tf")})
    for layer in layers:
        place = replace(workspace, directory=layer)
        (layer / "cli.tfrc").write_text((workspace.directory / "cli.tfrc").read_text())
        place.ok("init", "-backend=false", "-input=false")
        told = json.loads(place.run("validate", "-json").out)
        assert told["diagnostics"] == [], layer.name
