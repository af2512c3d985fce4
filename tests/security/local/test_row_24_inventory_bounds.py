"""Inventories of others end in problems with positions: no crash, no hang (rows 24 and 25)."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from talops.cli.app import run
from talops.inventory.load import load

if TYPE_CHECKING:
    from pathlib import Path

CLUSTER = """\
cluster_name: home
talos_version: v1.14.1
kubernetes_version: v1.36.3
node_cidr: 10.0.0.0/24
"""
NODES = "nodes:\n  - {name: cp-1, address: 10.0.0.11, controller: true}\n"
MERGES = "\n".join(
    f"m{n}: &m{n}\n  <<: [{', '.join(f'*m{n - 1}' for _ in range(9))}]" for n in range(1, 40)
)
ALIASES = "\n".join(
    f"a{n}: &a{n} [{', '.join(f'*a{n - 1}' for _ in range(9))}]" for n in range(1, 30)
)
HOSTILE = {
    "lists in one line": "- " * 200_000,
    "lists in lines": "\n".join("  " * n + "-" for n in range(3_000)),
    "explicit keys": "? " * 100_000,
    "mappings in lines": "\n".join(" " * n + "a:" for n in range(3_000)),
    "brackets": "x: " + "[" * 100_000,
    "braces": "x: " + "{a: " * 100_000,
    "nested merges": f"m0: &m0 {{a: 1}}\n{MERGES}\n",
    # Without any value that counts: the old code built each of the 9^39 of them.
    "nested merges of nothing": f"m0: &m0 {{}}\n{MERGES}\n",
    "merged into itself": "x: &x\n  <<: *x\n",
    "merged into each other": "x: &x\n  y: &y\n    <<: *x\n  <<: *y\n",
    "contains itself": "x: &x [*x]\n",
    "nested aliases": f"a0: &a0 [1]\n{ALIASES}\n",
    "a huge number": "vm_id: " + "9" * 5_000,
    "a huge hexadecimal number": "vm_id: 0x" + "f" * 100_000,
    "half a number": "vm_id: 0x_",
    "no digits": "vm_id: 0b_",
    "a huge exponent": "vm_id: 1e999",
    "NUL": 'cluster_name: "a\\0b"',
    "ESC": 'cluster_name: "\\e[31m"',
    "a half character": 'cluster_name: "\\ud800"',
    "a raw ESC": "cluster_name: \x1b[31m",
    "a long key": "? " + "a" * 200_000 + "\n: 1",
    "many keys": "\n".join(f"k{n}: 1" for n in range(5_000)),
    "a tag": "x: !!python/object:os.system [id]",
}
CHILD = """
import resource, sys
from pathlib import Path
from talops.inventory.load import load
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (100, 100))
for root in map(Path, sys.argv[1:]):
    print(root.name, flush=True)
    loaded = load(root)
    assert loaded.cluster is None
    print(*loaded.problems[:20], sep="\\n")
"""


def test_hostile_inventories(tmp_path: Path) -> None:
    """In a process with bounded memory and time: appended and alone, in either file."""
    roots = []
    for name, text in HOSTILE.items():
        for file in ("cluster.yaml", "nodes.yaml"):
            for mode in "aw":
                root = tmp_path / f"{name}-{file}-{mode}"
                root.mkdir()
                (root / "cluster.yaml").write_text(CLUSTER)
                (root / "nodes.yaml").write_text(NODES)
                with (root / file).open(mode) as out:
                    out.write(text + "\n")
                roots.append(str(root))
    argv = [sys.executable, "-c", CHILD, *roots]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=200)
    last = [line for line in done.stdout.splitlines() if not line.startswith(("cl", "no"))][-1]
    assert (done.returncode, done.stderr) == (0, ""), last
    assert "\x1b" not in done.stdout


PROXMOX = "proxmox_api_url: https://pve.example:8006\nproxmox_node: pve\n"


@pytest.mark.parametrize("text", ["a\\0b", "\\e[31mb", "a\\u009bb", "a\\u202eb"])
@pytest.mark.parametrize("key", ["proxmox_iso_storage", "proxmox_pool", "repository_branch"])
def test_control_characters_in_a_valid_inventory(tmp_path: Path, key: str, text: str) -> None:
    """NUL and ESC passed: everything else of this inventory is right."""
    (tmp_path / "nodes.yaml").write_text(NODES)
    problems = []
    for value in ("ordinary", text):
        (tmp_path / "cluster.yaml").write_text(f'{CLUSTER}{PROXMOX}{key}: "{value}"\n')
        problems.append(" ".join(map(str, load(tmp_path).problems)))
    assert "control character" not in problems[0]
    assert "control character" in problems[1]
    assert load(tmp_path).cluster is None


@pytest.mark.parametrize("key", ["proxmox_iso_storage", "proxmox_disk_storage"])
def test_a_storage_whose_second_line_is_a_command(
    tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`host prepare --print` is copied into a shell of root."""
    (tmp_path / "cluster.yaml").write_text(f'{CLUSTER}{PROXMOX}{key}: "local\\nreboot now #"\n')
    (tmp_path / "nodes.yaml").write_text(NODES)
    assert load(tmp_path).cluster is None
    assert run(["host", "prepare", "--print", "-C", str(tmp_path)]) == 3
    assert "\nreboot" not in capsys.readouterr().out
