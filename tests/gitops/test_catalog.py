"""Only what was compared is installed."""

from __future__ import annotations

import re
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

import pytest

from talops.errors import TalopsError
from talops.gitops.catalog import known, names, source
from talops.inventory.sections import Release

OWN = Release(version="v9", url="https://mirror.example/flux.yaml", sha256="a" * 64)


def cluster(**releases: Release) -> Any:
    return SimpleNamespace(releases=releases)


@pytest.mark.parametrize("name", names())
def test_every_entry_is_whole(name: str) -> None:
    """Version in the address, https, and a checksum."""
    entry = known(name)
    assert entry.url.startswith("https://")
    assert entry.version in entry.url
    assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256)


def test_every_version_has_a_renovate_comment() -> None:
    """So that a maintainer proposes the next one."""
    text = files("talops.gitops").joinpath("catalog.toml").read_text()
    assert text.count("# renovate: datasource=") == len(names())


def test_the_inventory_pins_another_one() -> None:
    """Its own address, version and checksum."""
    chosen = source(cluster(flux=OWN), "flux")
    assert (chosen.version, chosen.url, chosen.sha256) == ("v9", OWN.url, OWN.sha256)
    assert not chosen.is_chart
    assert source(cluster(), "cilium").is_chart


def test_an_unknown_name_is_told_the_known_ones() -> None:
    """A slip of the pen in `talops gitops pin`."""
    with pytest.raises(TalopsError, match="fluxx"):
        known("fluxx")
