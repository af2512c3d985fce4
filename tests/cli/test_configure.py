"""talops configure: write, compare, refuse."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from talops.pipeline.lock import Holder, local_lock

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Talops


def tree(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text("utf-8")
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".talops" not in path.parts
    }


def test_writes_then_has_nothing_to_do(talops: Talops, dev: Path) -> None:
    """The second run is silent about files."""
    first = talops("configure", "-C", dev)
    assert first.code == 0
    assert "+ infrastructure/02-platforms/dev/main.tf" in first.out
    assert talops("configure", "-C", dev).out == "up to date\n"


def test_check_exits_2_and_writes_nothing(talops: Talops, dev: Path) -> None:
    """For pipelines that must not change anything."""
    before = tree(dev)
    done = talops("configure", "--check", "-C", dev, "-o", "json")
    assert done.code == 2
    assert json.loads(done.out)["files"][0] == {"path": "Taskfile.yaml", "action": "create"}
    assert tree(dev) == before
    talops("configure", "-C", dev)
    assert talops("configure", "--check", "-C", dev).code == 0


def test_hand_edit_is_refused_with_a_diff(talops: Talops, dev: Path) -> None:
    """Nothing is written until the operator decides; --force decides."""
    talops("configure", "-C", dev)
    edited = dev / "infrastructure/02-platforms/dev/main.tf"
    edited.write_text(edited.read_text("utf-8") + "# mine\n", encoding="utf-8")
    before = tree(dev)
    done = talops("configure", "-C", dev)
    assert done.code == 1
    assert "-# mine" in done.err
    assert tree(dev) == before
    assert talops("configure", "--force", "-C", dev).code == 0
    assert "# mine" not in edited.read_text("utf-8")


def test_removed_input_removes_its_files(talops: Talops, dev: Path) -> None:
    """A layer that the inventory does not contain any more is removed."""
    cluster = dev / "cluster.yaml"
    text = cluster.read_text("utf-8")
    cluster.write_text(text + "legacy:\n  - name: old\n", encoding="utf-8")
    talops("configure", "-C", dev)
    assert (dev / "infrastructure/03-legacy/old/main.tf").exists()
    cluster.write_text(text, encoding="utf-8")
    assert "- infrastructure/03-legacy/old/main.tf" in talops("configure", "-C", dev).out
    assert not (dev / "infrastructure/03-legacy").exists()


def test_layer_with_resources_is_not_orphaned(talops: Talops, dev: Path) -> None:
    """Its VM would be left without the files that can destroy it."""
    cluster = dev / "cluster.yaml"
    text = cluster.read_text("utf-8")
    cluster.write_text(text + "legacy:\n  - name: old\n", encoding="utf-8")
    talops("configure", "-C", dev)
    state = {"resources": [{"mode": "managed", "instances": [{}]}]}
    (dev / "infrastructure/03-legacy/old/terraform.tfstate").write_text(
        json.dumps(state), encoding="utf-8"
    )
    cluster.write_text(text, encoding="utf-8")
    done = talops("configure", "-C", dev)
    assert done.code == 1
    assert "talops infra destroy --layer 03-legacy/old" in done.err
    assert (dev / "infrastructure/03-legacy/old/main.tf").exists()


def test_bad_inventory_touches_nothing(talops: Talops, dev: Path) -> None:
    """Exit 3, every problem on stderr, the tree as it was."""
    talops("configure", "-C", dev)
    (dev / "nodes.yaml").write_text("nodes: [", encoding="utf-8")
    before = tree(dev)
    done = talops("configure", "-C", dev)
    assert done.code == 3
    assert "nodes.yaml:" in done.err
    assert tree(dev) == before


def test_bare_metal_says_so(talops: Talops, tmp_path: Path) -> None:
    """No Proxmox, nothing for OpenTofu."""
    talops("init", "-C", tmp_path, "--bare-metal")
    done = talops("configure", "-C", tmp_path)
    assert (done.code, done.out) == (0, "up to date\n")
    assert "bare metal" in done.err


def test_waits_for_no_other_run(talops: Talops, dev: Path) -> None:
    """A run in progress applies what it has rendered; `--check` only reads."""
    (dev / ".talops").mkdir(exist_ok=True)
    with local_lock(dev / ".talops/lock", Holder.myself("x", "up", dev)):
        refused = talops("configure", "-C", dev)
        assert refused.code != 0
        assert "another run is in progress: talops up" in refused.err
        assert talops("configure", "--check", "-C", dev).code == 2
    assert talops("configure", "-C", dev).code == 0


def test_rollback_names_the_node_itself(talops: Talops, dev: Path) -> None:
    """Only one node stops: another name on --allow-unhealthy-etcd is a mistake."""
    words = ("--allow-unhealthy-etcd", "dev-cp-9", "--yes", "-C", dev)
    refused = talops("rollback", "dev-cp-1", *words)
    assert refused.code == 1
    assert "--allow-unhealthy-etcd cannot name dev-cp-9" in refused.err
