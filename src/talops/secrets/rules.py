"""`.sops.yaml`: how each file is encrypted, and for which recipients."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

FILE = ".sops.yaml"
# Rules by path. The comments become part of the generated file.
_TEMPLATE = """\
# Who can read the secrets of this repository. Change recipients with: talops secrets rotate
creation_rules:
  # Talos secrets: every value.
  - path_regex: talos/.*\\.sops\\.ya?ml
    age: {age}
  # Kubernetes secrets: only the values, so that names and labels stay readable for Flux, which
  # decrypts them with the cluster's own key. That key is listed nowhere else.
  - path_regex: ^kubernetes/.*\\.sops\\.ya?ml
    encrypted_regex: ^(data|stringData)$
    mac_only_encrypted: true
    age: {flux}
  - path_regex: bootstrap/.*\\.sops\\.ya?ml
    encrypted_regex: ^(data|stringData)$
    mac_only_encrypted: true
    age: {age}
  # Credentials of talops and OpenTofu.
  - path_regex: infrastructure/.*\\.sops\\.ya?ml
    mac_only_encrypted: true
    age: {age}
stores:
  yaml:
    indent: 2
"""


@dataclass(frozen=True)
class Rule:
    path_regex: str
    recipients: frozenset[str]


@dataclass(frozen=True)
class Rules:
    """The creation rules, in order: the first that matches applies."""

    rules: tuple[Rule, ...]

    def recipients_for(self, relative: str) -> frozenset[str] | None:
        """The recipients of a file at this path; None if no rule matches."""
        place = self.place_of(relative)
        return None if place is None else self.rules[place].recipients

    def place_of(self, relative: str) -> int | None:
        """The number of the rule that applies to this path."""
        found = (i for i, rule in enumerate(self.rules) if re.search(rule.path_regex, relative))
        return next(found, None)

    @property
    def recipients(self) -> frozenset[str]:
        return frozenset().union(*(rule.recipients for rule in self.rules))


def rules_text(recipients: Sequence[str], cluster: str | None = None) -> str:
    """`cluster` is the recipient that only opens kubernetes/."""
    flux = [*recipients, *([cluster] if cluster else [])]
    return _TEMPLATE.format(age=",".join(recipients), flux=",".join(flux))


def load_rules(root: Path) -> Rules | None:
    """None if .sops.yaml does not exist."""
    file = root / FILE
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise TalopsError(f"cannot be read: {error}", where=str(file)) from error
    return parse_rules(text, str(file))


def parse_rules(text: str, where: str = FILE) -> Rules:
    try:
        document = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise TalopsError(f"cannot be read: {error}", where=where) from error
    entries = document.get("creation_rules") if isinstance(document, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise TalopsError("contains no creation_rules", where=where)
    return Rules(tuple(Rule(str(e.get("path_regex") or ""), _recipients(e)) for e in entries))


def replace_recipient(text: str, old: Iterable[str], new: str) -> str:
    """The same text with the new recipient instead of the old ones, each listed once."""
    for recipient in old:
        text = text.replace(recipient, new)
    twice = re.compile(rf"{new}\s*,\s*(?={new})")
    return twice.sub("", text)


def _recipients(entry: dict[str, object]) -> frozenset[str]:
    """Both forms: `age: a,b` (or a list), and key_groups."""
    found: set[str] = set()
    groups = entry.get("key_groups")
    for source in [entry, *(groups if isinstance(groups, list) else [])]:
        value = source.get("age")
        parts = value if isinstance(value, list) else str(value or "").split(",")
        found |= {str(part).strip() for part in parts if str(part).strip()}
    return frozenset(found)
