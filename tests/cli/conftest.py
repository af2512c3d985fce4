"""Commands run in this process, with their output and exit code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from talops.cli.app import run

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Talops = Callable[..., Outcome]


@pytest.fixture
def talops(capsys: pytest.CaptureFixture[str]) -> Talops:
    def call(*words: str | Path) -> Outcome:
        capsys.readouterr()
        code = run([str(word) for word in words])
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    """A private copy of the `dev` example."""
    for name in ("cluster.yaml", "nodes.yaml"):
        text = (EXAMPLES / "dev" / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path
