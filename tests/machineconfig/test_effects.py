"""Which changes wait for a reboot: one case per setting, for both generations of Talos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talops.errors import TalopsError
from talops.machineconfig import yamltext
from talops.machineconfig.effects import reboot_needed

FILE = Path(__file__).parent / "effect_cases.yaml"
CASES: list[dict[str, Any]] = yamltext.load(FILE.read_text(encoding="utf-8"), where=FILE.name)


def found(case: dict[str, Any], version: str) -> list[str]:
    before, after = (yamltext.load_all(case[key], where=key) for key in ("before", "after"))
    return list(reboot_needed(before, after, version))


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
@pytest.mark.parametrize("version", ["v1.14.1", "1.14.0-rc.1", "v1.15.0"])
def test_applied_live(case: dict[str, Any], version: str) -> None:
    """From 1.14 on Talos applies everything at once, and this is what takes no effect."""
    assert found(case, version) == case["live"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
@pytest.mark.parametrize("version", ["v1.12.4", "v1.13.9"])
def test_up_to_1_13(case: dict[str, Any], version: str) -> None:
    """What Talos reboots for, and what it takes live without effect."""
    assert found(case, version) == case["rebooting"]


def test_a_secret_is_never_shown() -> None:
    """Paths carry names only."""
    before = [{"machine": {"env": {"a": "hidden"}, "token": "hidden"}}]
    after = [{"machine": {"env": {"a": "other"}, "token": "other"}}]
    assert "hidden" not in " ".join(reboot_needed(before, after, "v1.13.9"))


def test_a_version_that_is_none() -> None:
    """A wrong version is refused rather than taken for an old one."""
    with pytest.raises(TalopsError, match="is not a Talos version"):
        reboot_needed([], [], "latest")
