"""An installed tool is used if its version fits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.toolchain.conftest import put

from talops.errors import ToolError
from talops.toolchain import locate
from talops.toolchain.engine import ensure_engine, find_engine
from talops.toolchain.install import Toolchain

if TYPE_CHECKING:
    from pathlib import Path

    from talops.toolchain.catalog import Tool


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ('echo "gadget v2.5.1"', "2.5.1"),
        ('echo "gadget v1.9.9"', None),
        ('echo "gadget v3.0.0"', None),
        ('echo "who knows"', None),
        ('echo "gadget v2.5.1"; exit 1', None),
    ],
)
async def test_path(tmp_path: Path, gadget: Tool, script: str, found: str | None) -> None:
    """The program on PATH is used exactly if it answers with a version that fits."""
    put(tmp_path, "gadget", f"#!/bin/sh\n{script}\n")
    result = await locate.on_path(gadget, {"PATH": str(tmp_path)})
    assert (result.version if result else None) == found


async def test_path_needs_every_program(tmp_path: Path, gadget: Tool) -> None:
    """A tool that lacks one of its programs is not taken from PATH."""
    put(tmp_path, "gadget", '#!/bin/sh\necho "gadget v2.5.1"\n')
    both = replace(gadget, programs=("gadget", "gadget-keygen"))
    assert await locate.on_path(both, {"PATH": str(tmp_path)}) is None


def test_default_cache_follows_xdg() -> None:
    """XDG_CACHE_HOME wins over HOME."""
    assert str(locate.default_cache({"XDG_CACHE_HOME": "/x", "HOME": "/h"})) == "/x/talops"
    assert str(locate.default_cache({"HOME": "/h"})) == "/h/.cache/talops"


@pytest.mark.parametrize(
    ("programs", "engine"),
    [
        ({"tofu": "OpenTofu v1.12.6", "terraform": "Terraform v1.11.4"}, "tofu"),
        ({"terraform": "Terraform v1.11.4"}, "terraform"),
        ({"terraform": "Terraform v1.10.5"}, None),
        ({"tofu": "OpenTofu v1.6.0", "terraform": "Terraform v1.11.4"}, "terraform"),
        ({}, None),
    ],
)
async def test_engine(tmp_path: Path, programs: dict[str, str], engine: str | None) -> None:
    """OpenTofu comes first; a Terraform that is new enough stands in for it."""
    for name, text in programs.items():
        put(tmp_path / "bin", name, f'#!/bin/sh\necho "{text}"\n')
    chain = Toolchain({"PATH": str(tmp_path / "bin")}, cache=tmp_path / "cache")
    found = await find_engine(chain)
    assert (found.name if found else None) == engine


async def test_terraform_does_not_stand_in_where_states_are_encrypted(tmp_path: Path) -> None:
    """What is fetched then is tofu; a Terraform that is asked for by name is refused in words."""
    path = put(tmp_path / "bin", "terraform", '#!/bin/sh\necho "Terraform v1.13.0"\n')
    chain = Toolchain({"PATH": str(tmp_path / "bin")}, cache=tmp_path / "cache")
    assert await find_engine(chain, encrypted=True) is None
    for wanted in ("terraform", str(path)):
        assert (await ensure_engine(chain, wanted)).name == "terraform"
        with pytest.raises(ToolError, match="Terraform cannot encrypt states"):
            await ensure_engine(chain, wanted, encrypted=True)


async def test_engine_by_path(tmp_path: Path) -> None:
    """An engine named by its path is asked for its version."""
    path = put(tmp_path, "my-terraform", '#!/bin/sh\necho "Terraform v1.12.0"\n')
    chain = Toolchain({"PATH": ""}, cache=tmp_path)
    found = await ensure_engine(chain, str(path))
    assert (found.name, found.version) == ("terraform", "1.12.0")
