"""The cluster's recipient comes into `.sops.yaml`: for one folder, and for nothing else."""

from __future__ import annotations

import re

import pytest

from talops.errors import TalopsError
from talops.secrets.rule_edits import with_cluster
from talops.secrets.rules import parse_rules, rules_text

ME, MATE, CLUSTER = "age1me", "age1mate", "age1cluster"
INSIDE = ("kubernetes/flux/cluster/canary.sops.yaml", "kubernetes/a.sops.yml")
OUTSIDE = (
    "infrastructure/secrets.sops.yaml",
    "talos/talsecret.sops.yaml",
    "bootstrap/x.sops.yaml",
    "talos/kubernetes/x.sops.yaml",
    "infrastructure/kubernetes/x.sops.yaml",
    "bootstrap/kubernetes/x.sops.yaml",
    "other/kubernetes/x.sops.yaml",
)
COMBINED = f"""\
# ours
creation_rules:
    # first
    - path_regex: (bootstrap|kubernetes)/.*\\.sops\\.ya?ml
      encrypted_regex: ^(data|stringData)$
      mac_only_encrypted: true
      age: {ME},{MATE}
    - path_regex: .*\\.sops\\.ya?ml
      age: {ME}
stores: {{yaml: {{indent: 2}}}}
"""
LISTED = f"""\
creation_rules:
- path_regex: ^kubernetes/
  age:
  - {ME}
  - {MATE}
- age: {ME}
"""
ONE = f"creation_rules:\n  - age: >-\n      {ME},\n      {MATE}\n"
PGP = f"creation_rules:\n  - path_regex: ''\n    age: {ME}\n    pgp: ABCD\n"


def changed(text: str) -> str:
    return with_cluster(text, "kubernetes", INSIDE, CLUSTER)


@pytest.mark.parametrize("text", [rules_text([ME]), COMBINED, LISTED, ONE, PGP])
def test_only_the_folder_is_opened(text: str) -> None:
    """Whatever the rules look like; everyone who could read a file still can."""
    before, after = parse_rules(text), parse_rules(changed(text))
    for name in INSIDE:
        assert (after.recipients_for(name) or set()) - {CLUSTER} == before.recipients_for(name)
        assert CLUSTER in (after.recipients_for(name) or ())
    for name in OUTSIDE:
        assert after.recipients_for(name) == before.recipients_for(name)


@pytest.mark.parametrize("text", [rules_text([ME, MATE]), COMBINED, LISTED, ONE, PGP])
def test_every_other_line_stays(text: str) -> None:
    """Comments, order and spaces are the owner's; a second time changes nothing."""
    after = changed(text)
    kept = [line for line in after.splitlines() if line in text.splitlines()]
    lost = [line for line in text.splitlines() if line not in kept]
    assert [line for line in lost if "age: " not in line] == []
    assert changed(after) == after


def test_other_settings_of_the_rule_are_copied() -> None:
    """A file of Flux without `encrypted_regex` would hide its kind and its name."""
    (copy,) = re.findall(
        r"- path_regex: \^kubernetes.*?(?=\n    [-#] )", changed(COMBINED), re.DOTALL
    )
    assert "encrypted_regex: ^(data|stringData)$" in copy
    assert "mac_only_encrypted: true" in copy


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("creation_rules:\n  - path_regex: talos/\n    age: a\n", "no rule of .sops.yaml covers"),
        (
            f"creation_rules:\n  - path_regex: canary\n    age: {ME}\n  - age: {ME}\n",
            "several rules of .sops.yaml cover",
        ),
        (f"creation_rules:\n  - key_groups: [{{age: [{ME}]}}]\n", "has key_groups"),
    ],
)
def test_what_is_unclear_is_left_to_the_owner(text: str, words: str) -> None:
    """With the recipient to add."""
    with pytest.raises(TalopsError, match=words) as found:
        changed(text)
    assert found.value.hint
    assert CLUSTER in found.value.hint
