"""Files that are unreadable, hostile or broken give a clear problem and change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from talops.inventory.load import load
from talops.inventory.source import MAX_BYTES, read

if TYPE_CHECKING:
    from pathlib import Path
from tests.unprivileged import open_directory, unprivileged

__all__ = ["open_directory"]

NODES = "nodes:\n  - name: cp-1\n    address: 10.0.0.11\n    controller: true\n"


def problems_of(directory: Path) -> list[str]:
    return [str(problem) for problem in load(directory).problems]


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    (tmp_path / "cluster.yaml").write_text("cluster_name: home\n", encoding="utf-8")
    (tmp_path / "nodes.yaml").write_text(NODES, encoding="utf-8")
    return tmp_path


def test_missing_file_names_the_next_command(tmp_path: Path) -> None:
    """Both files are asked for, with the command that makes them."""
    assert problems_of(tmp_path) == [
        "cluster.yaml:1:1: cluster.yaml does not exist — talops init",
        "nodes.yaml:1:1: nodes.yaml does not exist — talops init",
    ]


def test_unreadable_file(inventory: Path) -> None:
    """A directory in the file's place is said to be one."""
    (inventory / "nodes.yaml").unlink()
    (inventory / "nodes.yaml").mkdir()
    assert "nodes.yaml:1:1: nodes.yaml is not a file — replace it with a file" in problems_of(
        inventory
    )


def test_forbidden_file(open_directory: Path) -> None:
    """A missing permission is distinguished from a missing file."""
    (open_directory / "nodes.yaml").write_text(NODES, encoding="utf-8")
    (open_directory / "nodes.yaml").chmod(0)
    with unprivileged():
        found = problems_of(open_directory)
    assert any("cannot read nodes.yaml: Permission denied" in problem for problem in found)


def test_bad_utf8_has_a_position(inventory: Path) -> None:
    """The first wrong byte is pointed at."""
    (inventory / "cluster.yaml").write_bytes(b"cluster_name: home\nnode_cidr: \xff\xfe\n")
    assert problems_of(inventory) == [
        "cluster.yaml:2:12: byte 0xff is not UTF-8 — save the file as UTF-8"
    ]


def test_nul_byte(inventory: Path) -> None:
    """Control characters are refused, not passed on."""
    (inventory / "cluster.yaml").write_bytes(b"cluster_name: ho\x00me\n")
    (problem,) = problems_of(inventory)
    assert problem.startswith("cluster.yaml:1:1: not valid YAML: ")


def test_byte_order_mark_is_fine(inventory: Path) -> None:
    """Editors on other systems write one."""
    (inventory / "cluster.yaml").write_bytes(b"\xef\xbb\xbfcluster_name: home\n")
    document, problems = read(inventory / "cluster.yaml", inventory)
    assert (document.data, problems) == ({"cluster_name": "home"}, [])


def test_fifty_megabytes_are_not_read(inventory: Path) -> None:
    """Size is looked at before content."""
    with (inventory / "cluster.yaml").open("wb") as file:
        file.truncate(50_000_000)
    (problem,) = problems_of(inventory)
    assert "has 50 MB; the limit is 10 MB" in problem
    assert MAX_BYTES < 50_000_000


def test_link_out_of_the_tree(inventory: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An inventory does not reach for other people's files."""
    outside = tmp_path_factory.mktemp("outside") / "nodes.yaml"
    outside.write_text(NODES, encoding="utf-8")
    (inventory / "nodes.yaml").unlink()
    (inventory / "nodes.yaml").symlink_to(outside)
    assert any(
        "is a symlink to a file outside this directory" in problem
        for problem in problems_of(inventory)
    )


def test_link_inside_the_tree_is_fine(inventory: Path) -> None:
    """A file may be shared between two names."""
    (inventory / "nodes.yaml").rename(inventory / "real.yaml")
    (inventory / "nodes.yaml").symlink_to("real.yaml")
    assert not any("link" in problem for problem in problems_of(inventory))


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [*a]\n",
        "a: &a {b: *a}\n",
        "- " * 5000 + "x\n",
        "[" * 20_000,
        "? " * 3000 + "x\n",
        "{" * 3000 + "}" * 3000,
        "&a " * 100 + "x\n",
        "a: |\n" + "  x\n" * 10_000,
        "%YAML 9.9\n---\na: 1\n",
        "a: 0b102\n",
        "a: .inf\nb: .nan\nc: -.inf\n",
        "<<: [1, 2]\n",
        "<<: *x\n",
        "? [a, b]\n: c\n",
        "!!set {a, b}\n",
        "'\n",
        "\ufeff\ufeff",
        "a: '\u2028'\n",
    ],
    ids=range(18),
)
def test_hostile_yaml_never_raises(inventory: Path, text: str) -> None:
    """Whatever stands in the file, problems come back, never an exception."""
    (inventory / "cluster.yaml").write_text(text, encoding="utf-8")
    loaded = load(inventory)
    assert loaded.cluster is None
    assert all(problem.where.file for problem in loaded.problems)


def test_colons_inside_brackets_are_text(tmp_path: Path) -> None:
    """MAC addresses and URLs need no quotes, wherever they stand."""
    (tmp_path / "x.yaml").write_text(
        "a: {mac: bc:24:11:00:00:01}\nb: [https://host:8006]\n", encoding="utf-8"
    )
    document, problems = read(tmp_path / "x.yaml", tmp_path)
    assert not problems
    assert document.data == {"a": {"mac": "bc:24:11:00:00:01"}, "b": ["https://host:8006"]}


def test_scalars_are_yaml_1_2(tmp_path: Path) -> None:
    """Numbers as YAML 1.2 has them: no octal surprise, no sexagesimal times, `yes` is a text."""
    (tmp_path / "x.yaml").write_text(
        "a: 007\nb: 0o17\nc: 0x1F\nd: 1_000\ne: 12:30\nf: yes\ng: True\nh: ~\ni: 1.5\n"
        "j: 2026-01-01\n",
        encoding="utf-8",
    )
    document, problems = read(tmp_path / "x.yaml", tmp_path)
    assert not problems
    assert list(document.data.values()) == [
        7,
        15,
        31,
        1000,
        "12:30",
        "yes",
        True,
        None,
        1.5,
        "2026-01-01",
    ]
