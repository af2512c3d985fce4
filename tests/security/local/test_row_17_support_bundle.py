"""A support bundle contains no secret of a patch (row 17)."""

from __future__ import annotations

import json
import tarfile
from typing import TYPE_CHECKING

import pytest
from tests.examples import EXAMPLES

from talops.app.support import cleaned, collect, inventory_secrets, pack, prove
from talops.cli.app import run
from talops.inventory.excerpt import excerpt, is_secret_key, patch_files

if TYPE_CHECKING:
    from pathlib import Path

REGISTRY, WIREGUARD, STATIC, FILE, OLD = (
    "registry-pass-1234",
    "kGJ3pWbGUkZm1mWIREGUARDkeyAAAAAAAAAAAAAAAAA=",
    "disk-passphrase-99",
    "patch-file-token-77",
    "old-password-in-a-comment",
)
CLUSTER = f"""\
cluster_name: home  # password was {OLD}
patches:
  - machine:
      registries: {{config: {{r.example: {{auth: {{username: u, password: {REGISTRY}}}}}}}}}
  - |
    machine:
      network:
        interfaces:
          - wireguard: {{privateKey: "{WIREGUARD}"}}
  - talos/disk.yaml
controller_patches: [{{machine: {{systemDiskEncryption: {{state: {{keys: [
  {{static: {{passphrase: "{STATIC}"}}}}]}}}}}}}}]
proxmox_api_url: https://pve.example:8006
"""
SECRETS = (REGISTRY, WIREGUARD, STATIC, FILE, OLD)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The run on record printed some of these values."""
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "nodes.yaml").write_text("nodes: []\n")
    (tmp_path / "talos").mkdir()
    (tmp_path / "talos/disk.yaml").write_text(f"machine: {{token: {FILE}}}\n")
    (tmp_path / "infrastructure/02").mkdir(parents=True)
    (tmp_path / "infrastructure/02/main.tf").write_text(f'x = "{REGISTRY}" # {FILE}\n')
    return tmp_path


def test_nothing_of_a_patch_is_in_the_bundle(root: Path) -> None:
    """The review's attack: a registry's password and a WireGuard key were in it."""
    known = inventory_secrets(root)
    bundle = pack(cleaned(collect(root, []), known), {})
    assert prove(bundle, known)
    (root / "b.tar.gz").write_bytes(bundle)
    with tarfile.open(root / "b.tar.gz") as archive:
        texts = [f.read().decode() for m in archive if (f := archive.extractfile(m))]
    whole = "\n".join(texts)
    assert not [secret for secret in SECRETS if secret in whole]
    assert "proxmox_api_url: https://pve.example:8006" in whole
    assert "talos/disk.yaml" in whole


def test_the_command_counts_them(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It said "none of 2 known secrets", and did not know these."""
    words = ["support", "--patterns-only", "--out", str(root / "b.tar.gz"), "-o", "json"]
    assert run([*words, "-C", str(root)]) == 0
    assert json.loads(capsys.readouterr().out)["secrets_looked_for"] >= 4


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir()))
@pytest.mark.parametrize("file", ["cluster.yaml", "nodes.yaml"])
def test_lines_keep_their_numbers(name: str, file: str) -> None:
    """`cluster.yaml:12` of an error leads to the same key in the bundle."""
    text = (EXAMPLES / name / file).read_text("utf-8")
    shown = excerpt(file, text).text
    assert shown.count("\n") == text.count("\n")
    for before, after in zip(text.splitlines(), shown.splitlines(), strict=True):
        assert before.startswith(after.partition("***")[0].rstrip("#"))


@pytest.mark.parametrize(
    "text",
    [
        "a: [\npassword: hunter-2-hunter\n- hunter-2-hunter\n",
        "password: |\n  hunter-2-hunter\n",
        "x: &x {password: hunter-2-hunter}\ny: *x\n",
        "users:\n- {name: a, apiKey: hunter-2-hunter}\n",
        "api_tokens: [hunter-2-hunter]\n",
        '"auth":\n  user: hunter-2-hunter\n',
        "# token: hunter-2-hunter\na: 1\n",
        "patches: [{a: [hunter-2-hunter]}]\n",
        "patches: hunter-2-hunter\n",
    ],
)
def test_secrets_in_every_form(text: str) -> None:
    """In flow and block style, behind an alias, in comments, and in a file that is not YAML."""
    assert "hunter-2" not in excerpt("cluster.yaml", text).text


def test_a_file_that_contains_itself() -> None:
    """Ends."""
    assert excerpt("cluster.yaml", "x: &x [*x]\n").text == "x: &x [*x]\n"
    assert list(patch_files("patches: [a.yaml, 'b c', {d: e}]\n")) == ["a.yaml"]


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        *((name, True) for name in ("password", "privateKey", "auth", "truenas_api_key", "psk")),
        *((name, True) for name in ("identityToken", "secretbox", "presharedKey")),
        *((name, False) for name in ("publicKey", "secretName", "key", "node_cidr", "keyboard")),
        *((name, False) for name in ("proxmox_api_token_id", "ssh_key_file", "author")),
    ],
)
def test_which_keys_hold_secrets(key: str, secret: bool) -> None:
    """Rather one too many; names and places of secrets are shown."""
    assert is_secret_key(key) is secret
