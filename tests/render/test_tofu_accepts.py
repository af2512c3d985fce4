"""Real tofu reads what is rendered."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.render.test_golden import CASES, rendered

Tool = Callable[[str], Path]


@pytest.mark.slow
def test_all_hcl_is_formatted(tool: Tool, tmp_path: Path) -> None:
    """`tofu fmt -check` has nothing to say about any golden."""
    for name in CASES:
        source = tmp_path / name
        source.mkdir()
        for path, text in rendered(name, source).items():
            target = tmp_path / "out" / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [tool("tofu"), "fmt", "-check", "-diff", "-recursive", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
        env={key: value for key, value in os.environ.items() if not key.startswith("TF_")},
    )
    assert (done.returncode, done.stdout) == (0, "")
