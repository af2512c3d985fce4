"""`talops tools` as a user meets it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.toolchain.conftest import put

from talops.cli.app import run
from talops.cli.tools.progress import Lines, describe
from talops.toolchain.events import ToolProgress, ToolReady, ToolSkipped, ToolStarted, ToolWaiting

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with terraform, etcd and nothing else, and an empty cache."""
    put(tmp_path / "bin", "terraform", '#!/bin/sh\necho "Terraform v1.11.4"\n')
    put(tmp_path / "bin", "etcd", '#!/bin/sh\necho "etcd Version: 3.6.0"\n')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_list_json(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The list says for each tool what is pinned and what would be used."""
    assert run(["tools", "list", "-o", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["tofu"]["program"] == "terraform"
    assert rows["etcd"]["version"] == "3.6.0"
    assert rows["etcd"]["origin"] == "path"
    assert rows["sops"]["path"] is None


def test_list_text(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing tool is called missing."""
    assert run(["tools", "list"]) == 0
    assert "missing" in capsys.readouterr().out


def test_install_what_is_there(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Installing a tool that fits on PATH fetches nothing."""
    assert run(["tools", "install", "etcd", "-o", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["path"] == str(machine / "bin" / "etcd")
    assert not (machine / "cache").exists()


def test_install_unknown(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped name fails with the names that exist."""
    assert run(["tools", "install", "tofuu"]) == 1
    assert "choose from: tofu, provider, sops" in capsys.readouterr().err


def test_lines_are_few() -> None:
    """Between start and end there is a line every ten seconds, not one per package."""
    written: list[str] = []
    now = [0.0]
    lines = Lines(written.append, clock=lambda: now[0])
    lines(ToolStarted("tofu", "1.12.6", "build"))
    for second in range(31):
        now[0] = float(second)
        lines(ToolProgress("tofu", "build", second, 100, f"package-{second}"))
    lines(ToolReady("tofu", "1.12.6", "build", "/x/tofu", 31))
    assert written == [
        "tofu 1.12.6: build …",
        "tofu: 10 of 100 packages built, package-10",
        "tofu: 20 of 100 packages built, package-20",
        "tofu: 30 of 100 packages built, package-30",
        "tofu 1.12.6: ready (build, 31 s): /x/tofu",
    ]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (ToolProgress("sops", "download", 5_000_000, 9_000_000), "sops: 5 of 9 MB"),
        (ToolProgress("sops", "build", 0, 0, "downloading x v1"), "sops: downloading x v1"),
        (ToolSkipped("sops", "release", "offline"), "sops: skipped release: offline"),
        (
            ToolWaiting("sops", 12),
            "sops: another process is installing it, waiting for 12 s",
        ),
    ],
)
def test_describe(event: ToolProgress, text: str) -> None:
    """Every event has its words."""
    assert describe(event) == text
