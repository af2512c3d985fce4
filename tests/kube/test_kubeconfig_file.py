"""One kubeconfig file for several clusters."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from ruamel.yaml import YAML

from talops.errors import TalopsError
from talops.kube import kubeconfig_file
from talops.machineconfig.secrets.bundle import generate
from talops.machineconfig.secrets.kubeconfig import admin_kubeconfig

if TYPE_CHECKING:
    from pathlib import Path

OTHER = """\
apiVersion: v1
kind: Config
clusters: [{name: work, cluster: {server: https://work:6443}}]
users: [{name: me, user: {token: t}}]
contexts: [{name: work, context: {cluster: work, user: me}}]
current-context: work
"""


@pytest.fixture(scope="module")
def given() -> str:
    return admin_kubeconfig("home", "https://10.0.0.11:6443", generate(datetime.now(UTC)), now())


def now() -> datetime:
    return datetime.now(UTC)


def merged(path: Path, given: str) -> None:
    text = kubeconfig_file.merge(path, given, context="home", server="https://10.0.0.10:6443")
    path.write_text(text, encoding="utf-8")


def test_context_is_named_after_the_cluster(tmp_path: Path, given: str) -> None:
    """And points to the address that the inventory gives."""
    path = tmp_path / "kubeconfig"
    merged(path, given)
    entry = kubeconfig_file.entry(path, "home")
    assert entry is not None
    assert entry.server == "https://10.0.0.10:6443"
    assert entry.ca is not None
    assert 360 <= (entry.expires() - now()).days <= 366


def test_other_clusters_stay(tmp_path: Path, given: str) -> None:
    """Before, after, and when ours is renewed or removed."""
    path = tmp_path / "kubeconfig"
    path.write_text(OTHER, encoding="utf-8")
    merged(path, given)
    merged(path, given)
    document = YAML(typ="safe").load(path.read_text("utf-8"))
    assert [item["name"] for item in document["contexts"]] == ["work", "home"]
    left = kubeconfig_file.without(path, "home")
    assert left is not None
    assert [item["name"] for item in YAML(typ="safe").load(left)["users"]] == ["me"]


def test_file_of_ours_alone_can_go(tmp_path: Path, given: str) -> None:
    """Nothing is left that would be worth a file."""
    path = tmp_path / "kubeconfig"
    merged(path, given)
    assert kubeconfig_file.without(path, "home") is None


def test_absent_is_none_and_damaged_is_an_error(tmp_path: Path) -> None:
    """A file that cannot be read is not written over."""
    path = tmp_path / "kubeconfig"
    assert kubeconfig_file.entry(path, "home") is None
    path.write_text("a: [", encoding="utf-8")
    with pytest.raises(TalopsError, match="invalid YAML"):
        kubeconfig_file.entry(path, "home")


def test_entry_of_another_make_is_replaced(tmp_path: Path, given: str) -> None:
    """A token-based entry under our name cannot be judged."""
    path = tmp_path / "kubeconfig"
    path.write_text(OTHER.replace("work", "home"), encoding="utf-8")
    assert kubeconfig_file.entry(path, "home") is None
    merged(path, given)
    assert kubeconfig_file.entry(path, "home") is not None
