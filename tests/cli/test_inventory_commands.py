"""check, schema, init, inventory show: what a person types first."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import EXAMPLES, Talops

if TYPE_CHECKING:
    from pathlib import Path


def test_check_is_quiet_about_good_files(talops: Talops, dev: Path) -> None:
    """Nothing on stdout, one line of what was found on stderr."""
    done = talops("check", "-C", dev)
    assert (done.code, done.out) == (0, "")
    assert done.err == (
        "ok: dev, 1 control plane + 2 workers, Talos v1.14.1, Kubernetes v1.36.3, on Proxmox pve\n"
    )


def test_check_exits_3_with_every_problem(talops: Talops, dev: Path) -> None:
    """`file:line:column: what — hint`, one line each."""
    (dev / "cluster.yaml").write_text("cluster_nme: dev\n", encoding="utf-8")
    done = talops("-C", dev, "check")
    assert done.code == 3
    assert done.out.splitlines()[0] == (
        "cluster.yaml:1:1: cluster_name is missing — add cluster_name: home"
    )
    assert "unknown key 'cluster_nme' — did you mean cluster_name?" in done.out
    assert "problems to fix before any other command runs" in done.err


def test_check_as_json(talops: Talops, dev: Path) -> None:
    """Versioned, with every field of a problem."""
    (dev / "nodes.yaml").write_text("nodes: []\n", encoding="utf-8")
    done = talops("check", "-C", dev, "-o", "json")
    answer = json.loads(done.out)
    assert (answer["version"], answer["valid"], done.code) == (1, False, 3)
    assert answer["problems"][0] == {
        "rule": "no-nodes",
        "severity": "error",
        "file": "nodes.yaml",
        "line": 1,
        "column": 1,
        "what": "there are no nodes",
        "hint": "add a '- name: …' entry below nodes:",
    }


@pytest.mark.parametrize("which", ["cluster", "nodes"])
def test_schema(which: str, talops: Talops) -> None:
    """Every key of the files is described."""
    schema = json.loads(talops("schema", which).out)
    properties = schema["properties"]
    if which == "nodes":
        properties = properties["nodes"]["items"]["properties"]
    assert len(properties) > 20
    assert all("description" in value for value in properties.values())


def test_schema_is_written_for_editors(talops: Talops, tmp_path: Path) -> None:
    """Where the header of the samples points."""
    assert talops("schema", "--write", "-C", tmp_path).code == 0
    assert json.loads((tmp_path / ".schema/nodes.schema.json").read_text("utf-8"))["title"]


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--control-planes", "1", "--workers", "0"],
        ["--control-planes", "5", "--cidr", "192.168.7.0/24", "--name", "five"],
        ["--bare-metal", "--workers", "1"],
    ],
)
def test_init_writes_what_check_accepts(flags: list[str], talops: Talops, tmp_path: Path) -> None:
    """The samples are right from the start."""
    assert talops("init", "-C", tmp_path, *flags).code == 0
    assert talops("check", "-C", tmp_path).code == 0
    first = (tmp_path / "cluster.yaml").read_text("utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=.schema/cluster.schema.json"


def test_init_never_overwrites(talops: Talops, dev: Path) -> None:
    """What is there stays, and is said to stay."""
    before = (dev / "cluster.yaml").read_text("utf-8")
    done = talops("init", "-C", dev, "--name", "other")
    assert "kept  cluster.yaml (already exists)" in done.err
    assert (dev / "cluster.yaml").read_text("utf-8") == before


def test_init_refuses_a_bad_network(talops: Talops, tmp_path: Path) -> None:
    """Before anything is written."""
    done = talops("init", "-C", tmp_path, "--cidr", "10.0.0.1/24")
    assert done.code == 1
    assert "talops init --cidr 10.0.0.0/24" in done.err
    assert list(tmp_path.iterdir()) == []


def test_show_as_table(talops: Talops) -> None:
    """One line per node, nothing cut off in a pipe."""
    lines = talops("inventory", "show", "-C", EXAMPLES / "ha").out.splitlines()
    assert lines[1].split() == (
        ["NAME", "ROLE", "ADDRESS", "MAC", "HOST", "VMID", "CPU", "MEMORY", "DISK", "SCHEMATIC"]
    )
    assert lines[2].split()[:3] == ["ha-cp-1", "controlplane", "10.30.0.11"]


def test_show_as_json(talops: Talops) -> None:
    """Defaults filled in."""
    shown = json.loads(talops("inventory", "show", "-C", EXAMPLES / "ha", "-o", "json").out)
    assert shown["nodes"][3]["vm"]["memory"] == 32768
    assert shown["network"]["gateway"] == "10.30.0.254"


def test_show_for_ansible(talops: Talops) -> None:
    """Groups and hostvars as `ansible-inventory` reads them."""
    shown = json.loads(talops("inventory", "show", "-C", EXAMPLES / "gpu", "-o", "ansible").out)
    assert shown["proxmox"]["hosts"] == ["pve"]
    assert shown["talos_workers"]["hosts"] == ["gpu-w-1", "gpu-w-2"]
    assert shown["_meta"]["hostvars"]["gpu-w-1"]["gpus"] == ["gpu0"]


def test_commands_need_a_good_inventory(talops: Talops, tmp_path: Path) -> None:
    """Exit 3 and the command that tells more."""
    done = talops("inventory", "show", "-C", tmp_path)
    assert done.code == 3
    assert "next: talops check" in done.err


def test_mistyped_flag_is_a_failure_not_a_difference(talops: Talops) -> None:
    """Exit 2 is reserved for differences."""
    assert talops("check", "--no-such-flag").code == 1


def test_version_is_quick_to_say() -> None:
    """Without importing the command tree."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "talops", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("talops ")
    assert "typer" not in done.stderr


def test_environment_names_flags(
    talops: Talops, dev: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every flag also as TALOPS_<FLAG>."""
    monkeypatch.setenv("TALOPS_DIRECTORY", str(dev))
    monkeypatch.setenv("TALOPS_OUTPUT", "json")
    assert json.loads(talops("check").out)["valid"] is True


def test_a_mac_address_is_not_an_emoji(talops: Talops, dev: Path) -> None:
    """A table would show `:AB:` as a button."""
    nodes = dev / "nodes.yaml"
    text = nodes.read_text("utf-8")
    nodes.write_text(text.replace("bc:24:11:20:00:11", "BC:24:11:AB:AE:CE"), "utf-8")
    assert "BC:24:11:AB:AE:CE" in talops("inventory", "show", "-C", dev).out
