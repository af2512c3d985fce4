"""Secrets in cluster.yaml are allowed only while git ignores that file."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from talops.inventory.load import load

if TYPE_CHECKING:
    from pathlib import Path

CLUSTER = """\
cluster_name: home
talos_version: v1.13.9
kubernetes_version: v1.36.3
node_cidr: 10.0.0.0/24
proxmox_api_url: https://pve.example:8006
proxmox_node: pve
proxmox_api_token_secret: 11111111-2222-3333-4444-555555555555
"""
NODES = "nodes:\n  - name: cp-1\n    address: 10.0.0.11\n    controller: true\n"


def prepare(directory: Path, gitignore: str | None) -> Path:
    (directory / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    (directory / "nodes.yaml").write_text(NODES, encoding="utf-8")
    if gitignore is not None:
        subprocess.run(["git", "init", "-q", str(directory)], check=True)
        (directory / ".gitignore").write_text(gitignore, encoding="utf-8")
    return directory


def test_ignored_file_may_hold_them(tmp_path: Path) -> None:
    """The value is there, as a type that cannot be printed."""
    cluster = load(prepare(tmp_path, "cluster.yaml\n")).require()
    assert cluster.credentials["proxmox_api_token_secret"].reveal().startswith("1111")
    assert "1111" not in repr(cluster)


def test_tracked_file_may_not(tmp_path: Path) -> None:
    """The problem names the command that moves them."""
    (problem,) = load(prepare(tmp_path, "")).problems
    assert str(problem) == (
        "cluster.yaml:7:1: proxmox_api_token_secret is a secret, and git does not ignore "
        "cluster.yaml — talops secrets import"
    )


def test_without_git_they_may_not(tmp_path: Path) -> None:
    """Nothing keeps the file out of a later commit."""
    assert load(prepare(tmp_path, None)).cluster is None
