"""`talops secrets`, as it is typed, with real sops and real git."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import EXAMPLES

from talops.cli.app import run as talops

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow
PLAIN = "the-password-in-plain-text"


def git(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    setup = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *setup, *words], cwd=root, check=False, capture_output=True, text=True
    )


@pytest.fixture
def root(tool: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Git repository with an inventory that holds a password."""
    own = f"{tool('sops').parent}:{os.path.dirname(sys.executable)}"  # noqa: PTH120  (a link must stay one)
    monkeypatch.setenv("PATH", f"{own}:{os.environ['PATH']}")
    for name in ("SOPS_AGE_KEY", "SOPS_AGE_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "cluster.yaml").write_text(f"cluster_name: a\ntfstate_password: {PLAIN}\n")
    return folder


def test_from_a_plain_inventory_to_a_clean_repository(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """init, import, check, commit: the hook lets the encrypted state pass."""
    assert talops(["secrets", "init", "-C", str(root)]) == 0
    assert capsys.readouterr().out.startswith("age1")
    git(root, "add", ".")
    assert talops(["secrets", "check", "-C", str(root)]) == 1
    out = capsys.readouterr().out
    assert "cluster.yaml:2: a value of tfstate_password in plain text" in out
    assert PLAIN not in out
    refused = git(root, "commit", "-qm", "plain")
    assert refused.returncode == 1, refused
    assert "cluster.yaml:2" in refused.stdout + refused.stderr
    assert talops(["secrets", "import", "-C", str(root)]) == 0
    git(root, "add", ".")
    assert talops(["secrets", "check", "-C", str(root)]) == 0
    passed = git(root, "commit", "-qm", "encrypted")
    assert passed.returncode == 0, passed
    assert "age.key" not in git(root, "ls-files").stdout
    assert talops(["secrets", "get", "tfstate_password", "-C", str(root)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == PLAIN


def test_a_new_site_can_be_committed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first commands of the README: nothing that talops itself writes is taken for a secret."""
    (root / "cluster.yaml").unlink()
    site = ["-C", str(root)]
    for words in (["init"], ["check"], ["secrets", "init"], ["configure", "--no-init"]):
        assert talops([*words, *site]) == 0, capsys.readouterr()
    git(root, "add", ".")
    assert talops(["secrets", "check", *site]) == 0, capsys.readouterr()
    passed = git(root, "commit", "-qm", "new")
    assert passed.returncode == 0, passed
    assert ".schema/cluster.schema.json" in git(root, "ls-files").stdout


def test_init_makes_only_what_is_missing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second init changes no file."""
    talops(["secrets", "init", "-C", str(root)])
    before = {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
    capsys.readouterr()
    assert talops(["secrets", "init", "-C", str(root)]) == 0
    assert capsys.readouterr().err == ""
    assert {p: p.read_bytes() for p in root.rglob("*") if p.is_file()} == before


def test_values_come_from_stdin(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set reads, get prints, and the list of names has no values."""
    talops(["secrets", "init", "-C", str(root)])
    monkeypatch.setattr("sys.stdin", io.StringIO("value-x\n"))
    assert talops(["secrets", "set", "cf_account_id", "-C", str(root)]) == 0
    assert talops(["secrets", "set", "other", "--generate", "-C", str(root)]) == 0
    capsys.readouterr()
    assert talops(["secrets", "get", "-o", "json", "-C", str(root)]) == 0
    names = json.loads(capsys.readouterr().out)
    assert names == ["cf_account_id", "cluster_age_key", "other", "state_encryption_passphrase"]
    assert talops(["secrets", "get", "cf_account_id", "-C", str(root)]) == 0
    assert capsys.readouterr().out == "value-x\n"
    assert talops(["secrets", "get", "nothing", "-C", str(root)]) == 1


def test_rotation_leaves_nothing_to_complain(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new recipient is printed, everything opens, check is content; so does the old key not."""
    talops(["secrets", "init", "-C", str(root)])
    talops(["secrets", "import", "-C", str(root)])
    old = (root / "age.key").read_text()
    capsys.readouterr()
    assert talops(["secrets", "rotate", "-C", str(root)]) == 0
    assert capsys.readouterr().out.strip() in (root / ".sops.yaml").read_text()
    assert talops(["secrets", "check", "-C", str(root)]) == 0
    (root / "age.key").write_text(old)
    assert talops(["secrets", "check", "-o", "json", "-C", str(root)]) == 1
    kinds = {finding["kind"] for finding in json.loads(capsys.readouterr().out)}
    assert kinds == {"cannot open"}


def test_no_key_is_found_out(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without age.key the file and the recipient that is missing are named."""
    talops(["secrets", "init", "-C", str(root)])
    (root / "age.key").unlink()
    capsys.readouterr()
    assert talops(["secrets", "get", "tfstate_password", "-C", str(root)]) == 1
    err = capsys.readouterr().err
    assert "secrets.sops.yaml" in err
    assert "encrypted for age1" in err


def test_state_commands_read_their_password_from_the_encrypted_file(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server that is down is a plain error; the encrypted password was read before."""
    example = EXAMPLES / "single"
    state = 'state: {type: http, url: "https://127.0.0.1:1/home"}\n'
    (root / "cluster.yaml").write_text((example / "cluster.yaml").read_text() + state)
    (root / "nodes.yaml").write_text((example / "nodes.yaml").read_text())
    assert talops(["secrets", "init", "-C", str(root)]) == 0
    monkeypatch.setattr("sys.stdin", io.StringIO(PLAIN))
    assert talops(["secrets", "set", "tfstate_password", "-C", str(root)]) == 0
    assert talops(["state", "list", "-C", str(root)]) == 1
    said = capsys.readouterr().err
    assert "https://127.0.0.1:1/home" in said
    assert "Traceback" not in said
    assert PLAIN not in said
