"""The stand-in's schema is a subset of the real one, word for word."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab_provider.conftest import REAL_MIRROR, VERSION

from talops.lab.provider import mirror as mirrors
from talops.lab.provider import schema
from talops.lab.provider.registry import DATA_SOURCES, RESOURCES

if TYPE_CHECKING:
    from tests.lab_provider.conftest import Workspace

BLOCKS = {
    **{f"resource {name}": item.block for name, item in RESOURCES.items()},
    **{f"data {name}": item.block for name, item in DATA_SOURCES.items()},
}
FLAGS = ("type", "required", "optional", "computed", "sensitive", "nested_type")


@pytest.mark.parametrize("name", BLOCKS)
def test_every_schema_can_be_told(name: str) -> None:
    """Each attribute is required, optional, computed, or the latter two."""
    for attribute in schema.to_wire(BLOCKS[name])["block"]["attributes"]:
        kinds = [key for key in ("required", "optional", "computed") if attribute[key]]
        assert kinds in (["required"], ["optional"], ["computed"], ["optional", "computed"])


def schemas(workspace: Workspace) -> dict[str, Any]:
    shown = json.loads(workspace.ok("providers", "schema", "-json"))["provider_schemas"]
    found: dict[str, Any] = next(iter(shown.values()))
    return found


def differences(ours: Any, real: Any, at: str) -> list[str]:
    out = []
    for name, attribute in ours.get("attributes", {}).items():
        other = real.get("attributes", {}).get(name, {})
        out += [
            f"{at}.{name}.{flag}: {attribute.get(flag)} instead of {other.get(flag)}"
            for flag in FLAGS
            if _plain(attribute.get(flag)) != _plain(other.get(flag))
        ]
    for name, block in ours.get("block_types", {}).items():
        other = real.get("block_types", {}).get(name)
        if other is None:
            out.append(f"{at}.{name} is not in the real provider")
            continue
        if block["nesting_mode"] != other["nesting_mode"]:
            out.append(f"{at}.{name}: {block['nesting_mode']} instead of {other['nesting_mode']}")
        out += differences(block["block"], other["block"], f"{at}.{name}")
    return out


def _plain(value: Any) -> Any:
    """Without the words: descriptions are everybody's own."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if not k.startswith(("descr", "deprec"))}
    return value or None


@pytest.mark.slow
@pytest.mark.skipif(REAL_MIRROR not in os.environ, reason=f"{REAL_MIRROR} names no real provider")
def test_it_is_the_real_schema(workspace: Workspace, tmp_path: Path) -> None:
    """Types and flags of every attribute are those of the real provider."""
    found = []
    for name, given in (("stand-in", None), ("real", Path(os.environ[REAL_MIRROR]))):
        chosen = asyncio.run(mirrors.choose(tmp_path / "cache", VERSION, given=given))
        directory = tmp_path / name
        directory.mkdir()
        place = replace(workspace, directory=directory, mirror=chosen.directory)
        place.write("")
        place.init()
        found.append(schemas(place))
    wrong = []
    for kind in ("resource_schemas", "data_source_schemas"):
        for name, ours in found[0][kind].items():
            wrong += differences(ours["block"], found[1][kind][name]["block"], name)
    wrong += differences(found[0]["provider"]["block"], found[1]["provider"]["block"], "provider")
    assert wrong == []
