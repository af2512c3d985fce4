"""Strategic merge: one case file per rule of Talos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talops.errors import TalopsError
from talops.machineconfig import yamltext
from talops.machineconfig.patches.reading import apply_patches, parse_patch

CASES = sorted((Path(__file__).parent / "merge_cases").glob("*.yaml"))


def merged(case: dict[str, Any]) -> list[dict[str, Any]]:
    base = yamltext.load_all(case["base"], where="base")
    patches = [parse_patch(text, where=f"patch {n}") for n, text in enumerate(case["patches"])]
    return apply_patches(base, patches)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_merge_rule(path: Path) -> None:
    """The patches give the expected documents, or the expected refusal, and change no input."""
    case = yamltext.load(path.read_text(encoding="utf-8"), where=path.name)
    if "error" in case:
        with pytest.raises(TalopsError) as caught:
            merged(case)
        assert case["error"] in caught.value.what
        assert caught.value.where == "patch 0"
    else:
        assert merged(case) == yamltext.load_all(case["expect"], where="expect")


def test_merge_leaves_its_input_alone() -> None:
    """Configs of one cluster share their parts, so a patch for one node must not reach another."""
    base = yamltext.load_all("machine:\n  certSANs: [a]\n  sysctls: {x: '1'}\n", where="base")
    patch = parse_patch(
        "machine:\n  certSANs: [b]\n  sysctls:\n    x: {$patch: delete}\n    y: '2'\n", where="p"
    )
    apply_patches(base, [patch])
    apply_patches(base, [patch])
    assert base == [{"machine": {"certSANs": ["a"], "sysctls": {"x": "1"}}}]
    assert patch.documents[0]["machine"]["certSANs"] == ["b"]
