"""Rendered trees, byte for byte. TALOPS_UPDATE_GOLDENS=1 updates them."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from talops.inventory.load import load
from talops.render.layers import MODULE
from talops.render.tree import render

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"
GOLDEN = HERE.parent / "golden"

# Golden → (example, lines added to its cluster.yaml, state passphrase available)
CASES: dict[str, tuple[str, str, bool]] = {
    **{path.name: (path.name, "", False) for path in EXAMPLES.iterdir()},
    "image": ("dev", "boot: image\n", False),
    "dhcp": ("dev", "boot_network: dhcp\n", False),
    "talos-vlan": ("dev", "node_vlan_tag: 20\n", False),
    "seabios": ("dev", "proxmox_vm_advanced: {bios: seabios, balloon: 1024, numa: false}\n", False),
    "raw-gpu": ("single", "", False),
    "encrypted": ("dev", "", True),
    "encrypted-http": ("ha", "", True),
    "state-r2": ("dev", "state: {type: s3, bucket: states, region: auto, prefix: p}\n", False),
    "state-aws": ("dev", "state: {type: s3, bucket: states, region: eu-central-1}\n", False),
}
NODE_LINES = {"raw-gpu": '    gpus: ["0000:01:00.0"]\n'}


def rendered(name: str, directory: Path) -> dict[str, str]:
    example, extra, encrypted = CASES[name]
    for file, more in (("cluster.yaml", extra), ("nodes.yaml", NODE_LINES.get(name, ""))):
        text = (EXAMPLES / example / file).read_text(encoding="utf-8")
        (directory / file).write_text(text + more, encoding="utf-8")
    return render(load(directory).require(), encrypted=encrypted)


def as_one_text(files: dict[str, str]) -> str:
    return "".join(f"==> {path}\n{text}\n" for path, text in files.items())


def is_common(path: str) -> bool:
    """Files that no inventory changes: they have one golden for all."""
    return path.startswith(MODULE) or path in {"Taskfile.yaml", "justfile"}


@pytest.mark.parametrize("name", sorted(CASES))
def test_golden(name: str, tmp_path: Path) -> None:
    """The same inventory gives the same files."""
    files = rendered(name, tmp_path)
    compare(name, {path: text for path, text in files.items() if not is_common(path)})
    if files:
        compare("common", {path: text for path, text in files.items() if is_common(path)})


def compare(name: str, files: dict[str, str]) -> None:
    golden, text = GOLDEN / f"{name}.txt", as_one_text(files)
    if os.environ.get("TALOPS_UPDATE_GOLDENS"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_no_golden_is_left_over() -> None:
    """A golden without its case tests nothing."""
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {*CASES, "common"}


def test_bare_metal_renders_nothing(tmp_path: Path) -> None:
    """OpenTofu has no part in it."""
    assert rendered("bare-metal", tmp_path) == {}


def test_order_of_keys_does_not_matter(tmp_path: Path) -> None:
    """Only the order of nodes is the operator's; keys may stand anywhere."""
    before = rendered("ha", tmp_path)
    blocks = _top_level_blocks((EXAMPLES / "ha" / "cluster.yaml").read_text(encoding="utf-8"))
    random.Random(7).shuffle(blocks)
    (tmp_path / "cluster.yaml").write_text("".join(blocks), encoding="utf-8")
    assert render(load(tmp_path).require()) == before


def _top_level_blocks(text: str) -> list[str]:
    blocks: list[str] = []
    for line in text.splitlines(keepends=True):
        if line[:1].isalpha() or not blocks:
            blocks.append(line)
        else:
            blocks[-1] += line
    return blocks


@pytest.mark.parametrize("name", sorted(CASES))
def test_nothing_secret_and_no_address_of_a_backend(name: str, tmp_path: Path) -> None:
    """Endpoints and credentials come through the environment."""
    text = as_one_text(rendered(name, tmp_path))
    for forbidden in ("pve.example", "state.example", "minio.example", "api_token", "password"):
        assert forbidden not in text
