"""`.sops.yaml`, and what encrypted files say about themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from talops.errors import TalopsError
from talops.secrets.metadata import is_encrypted_name, recipients_of
from talops.secrets.private import filesystem_of
from talops.secrets.rules import load_rules, replace_recipient, rules_text


@pytest.mark.parametrize(
    ("path", "covered"),
    [
        ("talos/talsecret.sops.yaml", True),
        ("infrastructure/secrets.sops.yaml", True),
        ("kubernetes/apps/x/secret.sops.yml", True),
        ("bootstrap/github.sops.yaml", True),
        ("x/kubernetes/secret.sops.yaml", False),
        ("other/secret.sops.yaml", False),
        ("talos/talconfig.yaml", False),
    ],
)
def test_generated_rules_cover_the_layout(tmp_path: Path, path: str, covered: bool) -> None:
    """Every place where secrets live has a rule with all recipients."""
    (tmp_path / ".sops.yaml").write_text(rules_text(["age1a", "age1b"]))
    rules = load_rules(tmp_path)
    assert rules
    assert rules.recipients_for(path) == ({"age1a", "age1b"} if covered else None)


@pytest.mark.parametrize(
    "age",
    ["age: age1a,age1b", "age: [age1a, age1b]", "key_groups: [{age: [age1a]}, {age: [age1b]}]"],
)
def test_every_writing_of_recipients_is_read(tmp_path: Path, age: str) -> None:
    """Text, list and key groups mean the same."""
    (tmp_path / ".sops.yaml").write_text(f"creation_rules:\n  - path_regex: x\n    {age}\n")
    rules = load_rules(tmp_path)
    assert rules
    assert rules.recipients == {"age1a", "age1b"}


@pytest.mark.parametrize("text", ["", "a: [", "creation_rules: 3"])
def test_a_broken_rules_file_is_an_error(tmp_path: Path, text: str) -> None:
    """It is there and cannot be used, which is not the same as missing."""
    assert load_rules(tmp_path) is None
    (tmp_path / ".sops.yaml").write_text(text)
    with pytest.raises(TalopsError):
        load_rules(tmp_path)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("age: old", "age: new"),
        ("age: old,mate", "age: new,mate"),
        ("age: older,new", "age: newer,new"),
        ("age: old,new", "age: new"),
        ("# keep\nage: mate", "# keep\nage: mate"),
    ],
)
def test_one_recipient_takes_the_place_of_another(text: str, after: str) -> None:
    """Others and comments stay; no recipient is listed twice."""
    assert replace_recipient(text, ["old"], "new") == after


@pytest.mark.parametrize(
    ("name", "text", "recipients"),
    [
        ("a.sops.yaml", "k: 1\n", None),
        ("a.sops.yaml", "sops:\n  mac: x\n  age: [{recipient: age1a}]\n", {"age1a"}),
        ("a.sops.yaml", "sops:\n  mac: x\n  key_groups: [{age: [{recipient: b}]}]\n", {"b"}),
        ("a.sops.yaml", "a: 1\n---\nsops: {mac: x, age: [{recipient: c}]}\n", {"c"}),
        ("a.sops.yaml", "sops: {mac: x}\n", set()),
        ("a.sops.json", '{"sops": {"mac": "x", "age": [{"recipient": "d"}]}}', {"d"}),
        ("a.sops.env", "K=ENC[x]\nsops_age__list_0__map_recipient=age1e\n", {"age1e"}),
        ("a.sops.env", "K=plain\n", None),
    ],
)
def test_recipients_are_read_without_a_key(
    name: str, text: str, recipients: set[str] | None
) -> None:
    """None means plain text; an empty set means encrypted, but not for age."""
    assert recipients_of(text, name) == recipients


@pytest.mark.parametrize(
    ("name", "promise"),
    [("x.sops.yaml", True), ("x.sops.json", True), (".sops.yaml", False), ("sops.yaml", False)],
)
def test_names_that_promise_encryption(name: str, promise: bool) -> None:
    """The configuration file itself is not one of them."""
    assert is_encrypted_name(name) is promise


MOUNTS = "/dev/sda / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\ntmpfs /my\\040run tmpfs rw 0 0\n"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/tmp/x", "ext4"),
        ("/dev/shm", "tmpfs"),
        ("/dev/shm/a", "tmpfs"),
        ("/dev/shmx", "ext4"),
        ("/my run/x", "tmpfs"),
    ],
)
def test_the_file_system_of_a_path(path: str, kind: str) -> None:
    """The longest mount point that contains it."""
    assert filesystem_of(Path(path), MOUNTS) == kind
