"""A cloned repository makes talops act on nothing outside of it (row 3)."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.security.local.hostile import PRECIOUS, Hostile, touched

from talops import journal
from talops.cli.app import run
from talops.errors import TalopsError
from talops.generated import apply, changes, stamped
from talops.inside import OutsideError, move, parts_of, read, remove, write
from talops.pipeline.lock import Holder, local_lock
from talops.site.checkout import is_marked, mark, refuse_foreign

if TYPE_CHECKING:
    from collections.abc import Callable

# Each path that talops, OpenTofu, sops or git reads or writes in a repository.
PATHS = (
    *(".talops", ".talops/lock", ".talops/place", ".talops/here", ".talops/.gitignore"),
    *(".talops/configure", ".talops/infra", ".talops/state", ".talops/releases"),
    *(".talops/nodes.json", ".talops/bootstrap.json", ".talops/checkpoint.json"),
    *(".talops/infra/dev.creating.json", ".talops/infra/dev.init", ".talops/infra/dev.tfplan"),
    *(".talops/runs", ".talops/runs/1", ".talops/runs/1/run.json", ".talops/runs/1/report.html"),
    *("infrastructure", "infrastructure/02-platforms", "infrastructure/02-platforms/dev"),
    "infrastructure/02-platforms/dev/main.tf",
    "infrastructure/02-platforms/dev/terraform.tfstate",
    "infrastructure/02-platforms/dev/.terraform",
    "infrastructure/02-platforms/dev/.terraform.lock.hcl",
    "infrastructure/secrets.sops.yaml",
    *("talos", "talos/clusterconfig", "talos/clusterconfig/dev-1.yaml"),
    *("talos/talsecret.sops.yaml", "talos/talsecret.yaml"),
    *("kubernetes", "kubernetes/flux", "kubernetes/flux/cluster/ks.yaml"),
    *(".sops.yaml", ".gitignore", ".schema", "Taskfile.yaml", "justfile"),
    *("age.key", "kubeconfig", "talosconfig", "cluster.yaml", "nodes.yaml"),
)
COMMANDS = (
    ["configure", "--check"],
    ["configure", "--no-init"],
    ["check"],
    ["runs", "list"],
    ["support", "--patterns-only", "--to", "bundle.tar.gz"],
    ["infra", "fmt"],
    ["up", "--dry-run", "--yes"],
    ["secrets", "check"],
)


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hostile:
    """A clone of the `dev` example, in which the next command runs."""
    made = Hostile.clone(tmp_path)
    monkeypatch.chdir(made.root)
    return made


def journal_of_a_stranger(hostile: Hostile) -> None:
    """As an older version would have followed it, and as the present one writes it."""
    moves: Any = [["../victim/file", "0000"], ["../victim/deep/file", None]]
    old = [{"path": path, "staged": staged} for path, staged in moves]
    mixed = [{**entry, "0": entry["path"], "1": entry["staged"]} for entry in old]
    hostile.put(".talops/configure/0000", "owned\n")
    text = json.dumps({"version": 1, "origin": "0" * 64, "moves": mixed})
    hostile.put(".talops/configure/journal.json", text)
    (hostile.root / ".talops/configure/journal.json").chmod(0o600)


@pytest.mark.parametrize("check", [["--check"], ["--no-init"]], ids=["check", "write"])
def test_a_journal_of_a_stranger(hostile: Hostile, check: list[str]) -> None:
    """The review's attack: `configure --check` replaced a file outside and deleted another."""
    journal_of_a_stranger(hostile)
    before = hostile.outside()
    run(["configure", *check])
    assert hostile.outside() == before
    assert (hostile.victim / "file").read_text() == PRECIOUS


def written(root: Path, body: str) -> list[Any]:
    text = stamped(body, version="1.2.3", sources="cluster.yaml and nodes.yaml")
    return changes(root, {"infrastructure/a.tf": text}, ["infrastructure"])


def killed(root: Path) -> None:
    """A journal that is complete, of a process that ended before its first rename."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(journal, "finish", lambda _: None)
        apply(root, written(root, "a\n"))


def test_our_own_journal_is_finished(hostile: Hostile) -> None:
    """Of this user, on this machine, in this directory."""
    killed(hostile.root)
    assert not (hostile.root / "infrastructure/a.tf").exists()
    assert journal.finish(hostile.root)
    assert (hostile.root / "infrastructure/a.tf").exists()


def test_a_copied_journal_is_not_followed(hostile: Hostile, tmp_path: Path) -> None:
    """The same bytes, in files that its writer did not create."""
    killed(hostile.root)
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-a", str(hostile.root), str(copy)], check=True)
    assert not journal.finish(copy)
    assert not (copy / "infrastructure/a.tf").exists()


@pytest.mark.parametrize("mode", [0o644, 0o660])
def test_a_journal_that_others_may_read_or_write(hostile: Hostile, mode: int) -> None:
    """Git creates files so; talops does not."""
    killed(hostile.root)
    (hostile.root / ".talops/configure/journal.json").chmod(mode)
    assert not journal.finish(hostile.root)


def test_check_does_not_finish_a_journal(hostile: Hostile) -> None:
    """A command that only looks changes nothing, not even back."""
    killed(hostile.root)
    assert run(["configure", "--check"]) == 2
    assert not (hostile.root / "infrastructure/a.tf").exists()


@pytest.mark.parametrize("broken", ["{", "[]", '{"version": 2}', "[" * 100_000, "\udcff"])
def test_a_broken_journal(hostile: Hostile, broken: str) -> None:
    """Is not followed, and does not cause a traceback."""
    killed(hostile.root)
    data = broken.encode(errors="surrogateescape")
    with (hostile.root / ".talops/configure/journal.json").open("r+b") as file:
        file.truncate()
        file.write(data)
    with contextlib.suppress(TalopsError):
        assert not journal.finish(hostile.root)


def test_the_lock_is_not_a_symlink(hostile: Hostile) -> None:
    """Its target was emptied, even with --dry-run."""
    hostile.link(".talops/lock", to="file")
    me = Holder.myself("1", "up", hostile.root)
    with (
        pytest.raises(OutsideError, match="symlink"),
        local_lock(hostile.root / ".talops/lock", me),
    ):
        pass
    assert (hostile.victim / "file").read_text() == PRECIOUS


@pytest.mark.parametrize("path", PATHS)
def test_symlinks_to_directories_and_files(hostile: Hostile, path: str) -> None:
    """At every path that talops uses, to a directory and to a file of the user."""
    before = hostile.outside()
    (hostile.root / path).unlink(missing_ok=True)
    for target in ("", "file"):
        hostile.link(path, to=target)
        for command in COMMANDS[:2]:
            assert run(list(command)) not in {0, 2}
        (hostile.root / path).unlink()
    assert hostile.outside() == before


@pytest.mark.parametrize("seed", range(2))
def test_nothing_outside_is_opened(hostile: Hostile, seed: int) -> None:
    """Not even read: the interpreter itself reports every file that it opens."""
    for path in PATHS[seed * 5 :: 9]:
        if not (hostile.root / path).exists():
            hostile.link(path, to="file" if "." in Path(path).name[1:] else "")
    journal_of_a_stranger_if_possible(hostile)
    before = hostile.outside()
    found, codes = touched(hostile, *COMMANDS)
    assert found == []
    assert set(codes) & {0, 2} == set()
    assert hostile.outside() == before


def journal_of_a_stranger_if_possible(hostile: Hostile) -> None:
    if not (hostile.root / ".talops").is_symlink():
        (hostile.root / ".talops/configure").unlink(missing_ok=True)
        journal_of_a_stranger(hostile)


@pytest.mark.chaos
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("target", ["", "file"])
def test_nothing_outside_is_opened_by_any_command(hostile: Hostile, path: str, target: str) -> None:
    """Each path alone, each command."""
    (hostile.root / path).unlink(missing_ok=True)
    hostile.link(path, to=target)
    before = hostile.outside()
    found, _ = touched(hostile, *COMMANDS)
    assert found == []
    assert hostile.outside() == before


def test_the_watch_sees_a_file_that_is_opened(hostile: Hostile) -> None:
    """Otherwise the tests above would prove nothing."""
    found, _ = touched(hostile, ["configure", "--check", "-C", str(hostile.victim)])
    assert {Path(path).name for _, path in found} >= {"infrastructure", ".talops"}


def test_records_that_are_committed(hostile: Hostile) -> None:
    """They would name nodes and VMs that this machine has never seen."""
    hostile.put(".talops/nodes.json", "{}")
    for words in (["init", "-q"], ["add", "-f", "."]):
        subprocess.run(["git", *words], cwd=hostile.root, check=True)
    with pytest.raises(TalopsError, match="committed") as caught:
        refuse_foreign(hostile.root)
    assert caught.value.hint == "git rm -r --cached .talops; rm -r .talops"
    mark(hostile.root)
    assert is_marked(hostile.root)
    refuse_foreign(hostile.root)  # added by the user of this machine, by mistake


def test_a_mark_of_another_machine(hostile: Hostile) -> None:
    """A clone cannot bring it."""
    hostile.put(".talops/here", "0" * 64)
    assert not is_marked(hostile.root)


def test_providers_that_are_committed(hostile: Hostile) -> None:
    """OpenTofu runs what lies there, with the token of Proxmox in its environment."""
    hostile.put("infrastructure/02-platforms/dev/terraform.d/plugins/x", "")
    assert run(["check"]) == 1


@pytest.mark.parametrize(
    "line",
    [
        "proxmox_ca_file: ../victim/file",
        "proxmox_ca_file: {victim}/file",
        "image_factory_ca_file: /etc/ssl/certs/../../../{victim}/file",
        "state: {{type: http, url: https://s.example/p, ca_file: ../victim/file}}",
        "patches: [../victim/file]",
        "patches: [link.yaml]",
        "cni: {{name: cilium, values: ../victim/file}}",
        "gitops: {{path: ../victim}}",
        "gitops: {{known_hosts: ../victim/file}}",
        "releases: {{x: {{version: v1, url: 'https://x.y/x', sha256: {hash}, ca_file: ../x}}}}",
    ],
)
def test_files_that_the_inventory_names(
    hostile: Hostile, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Certificates, patches, values: all of them inside."""
    hostile.link("link.yaml", to="file")
    cluster = hostile.root / "cluster.yaml"
    key = line.partition(":")[0]
    kept = [each for each in cluster.read_text().splitlines() if not each.startswith(f"{key}:")]
    own = line.format(victim=hostile.victim, hash="a" * 64)
    cluster.write_text("\n".join([*kept, own]) + "\n")
    assert run(["check"]) == 3
    assert "is outside this directory" in "".join(capsys.readouterr())


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "a/..", "", ".", "a\0b"])
def test_paths_that_leave(name: str) -> None:
    """Refused before anything is opened."""
    with pytest.raises(OutsideError):
        parts_of(name)


@pytest.mark.parametrize(
    "act",
    [
        lambda root: read(root, "linked/file"),
        lambda root: read(root, "to-file"),
        lambda root: write(root, "linked/file", "x"),
        lambda root: write(root, "linked/new/file", "x"),
        lambda root: remove(root, "linked/file"),
        lambda root: move(root, "inside", "linked/file"),
        lambda root: move(root, "linked/file", "inside"),
        lambda root: read(root, "fifo"),
    ],
)
def test_no_part_of_a_path_is_a_symlink(hostile: Hostile, act: Callable[[Path], Any]) -> None:
    """Also no FIFO, which would never end."""
    hostile.link("linked", to="deep")
    hostile.link("to-file", to="file")
    hostile.put("inside", "x")
    os.mkfifo(hostile.root / "fifo")
    before = hostile.outside()
    with pytest.raises(OutsideError):
        act(hostile.root)
    assert hostile.outside() == before


def test_a_symlink_in_place_of_a_file_is_replaced(hostile: Hostile) -> None:
    """As `write_atomic` does; a removed one leaves its target."""
    for name in ("a", "b"):
        hostile.link(name, to="file")
    write(hostile.root, "a", "new")
    assert remove(hostile.root, "b")
    assert not (hostile.root / "a").is_symlink()
    assert (hostile.victim / "file").read_text() == PRECIOUS
