"""`talops doctor` on machines that lack something."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import httpx
import pytest

from talops.cli.tools import doctor
from talops.toolchain.catalog import catalog

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Talops


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing but an empty cache and this Python."""
    (programs := tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TALOPS_PROVIDER_MIRROR", raising=False)
    return programs


def rows(talops: Talops, *words: str) -> tuple[int, dict[str, dict[str, str]]]:
    done = talops("doctor", "--no-network", "-o", "json", *words)
    return done.code, {row["part"]: row for row in json.loads(done.out)["rows"]}


def test_a_bare_machine(bare: Path, talops: Talops) -> None:
    """Git must be installed; each tool says how it will come, and its command."""
    code, found = rows(talops)
    assert code == 1
    assert found["git"]["level"] == "failed"
    assert {found[name]["level"] for name in catalog()} == {"later"}
    assert "is downloaded when it is needed" in found["tofu"]["what"]
    assert "is built when it is needed" in found["kube-scheduler"]["what"]
    assert found["sops"]["hint"] == "talops tools install sops"


def test_a_machine_with_git(bare: Path, talops: Talops) -> None:
    """What talops installs later does not count as a failure."""
    (bare / "git").write_text("#!/bin/sh\n", encoding="utf-8")
    (bare / "git").chmod(0o755)
    code, found = rows(talops)
    assert code == 0
    assert found["git"]["what"] == str(bare / "git")
    shown = talops("doctor", "--no-network")
    assert "next: talops tools install tofu" in shown.out


def test_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules that are missing, and the command that installs them."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    row = doctor.extra("lab")
    assert (row.level, row.hint) == ("later", "pip install 'talops[lab]'")
    assert "aiohttp" in row.what


async def test_a_closed_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each host that does not answer, and what that means; never an error of its own."""

    async def refuse(_: object, address: str) -> None:
        raise httpx.ConnectError(f"no route to {address}")

    monkeypatch.setattr(httpx.AsyncClient, "head", refuse)
    found = await doctor.reachable()
    assert {row.part for row in found} == set(doctor.HOSTS)
    assert {row.level for row in found} == {"warning"}
    assert all(row.hint.startswith("needed for ") for row in found)


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root can write everywhere, so the answer of the system is given."""
    monkeypatch.setattr("os.access", lambda *_: False)
    row = doctor.cache(tmp_path / "none" / "talops")
    assert row.level == "failed"
    assert "XDG_CACHE_HOME" in row.hint
