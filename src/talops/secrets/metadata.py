"""Metadata of an encrypted file, readable without a key."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ruamel.yaml.error import YAMLError

from talops import quickyaml
from talops.errors import TalopsError
from talops.shapes import misfit

if TYPE_CHECKING:
    from pathlib import Path

_ENCRYPTED_NAME = re.compile(r"[^/]\.sops\.(ya?ml|json|env|ini|txt)$")
_DOTENV_RECIPIENT = re.compile(
    r"^\"?sops_age__list_\d+__map_recipient\"?\s*=\s*(\S+)", flags=re.MULTILINE
)


_KEYS = {"age?": [{"recipient": str}]}
_BLOCK = {**_KEYS, "key_groups?": [_KEYS]}


def is_encrypted_name(path: Path | str) -> bool:
    """Whether the file name is that of an encrypted file."""
    return bool(_ENCRYPTED_NAME.search(str(path)))


def recipients_of(text: str, name: str) -> frozenset[str] | None:
    """The age recipients of an encrypted text; None if it is not encrypted."""
    if name.endswith((".env", ".ini")):
        found = frozenset(_DOTENV_RECIPIENT.findall(text))
        return found or None
    block = _sops_block(text, name)
    if not isinstance(block, dict) or "mac" not in block:
        return None
    if wrong := misfit(block, _BLOCK):
        raise TalopsError(f"its block of sops cannot be read: {wrong}", where=name)
    groups = [block, *(block.get("key_groups") or [])]
    entries = [entry for group in groups for entry in group.get("age") or []]
    return frozenset(entry["recipient"] for entry in entries)


def read_recipients(file: Path) -> frozenset[str] | None:
    return recipients_of(file.read_text(encoding="utf-8"), file.name)


def _sops_block(text: str, name: str) -> Any:
    try:
        if name.endswith(".json"):
            document = json.loads(text)
        else:
            # All documents of an encrypted file contain the same block; the last is enough.
            document = quickyaml.load_all(text)[-1:]
            document = document[0] if document else None
    except (YAMLError, ValueError, RecursionError) as error:
        raise TalopsError(f"cannot be parsed: {str(error).splitlines()[0]}", where=name) from None
    return document.get("sops") if isinstance(document, dict) else None
