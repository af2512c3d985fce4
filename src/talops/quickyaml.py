"""Plain data out of YAML text: by the C reader, and by the thorough one where that refuses.

The C reader is some ten times as fast and reads every scalar alike, but it does not take everything
that is YAML 1.2, such as `[https://…]`. What it refuses, the thorough one judges, and words.
"""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError


def load(text: str) -> Any:
    """The one document of the text; raises YAMLError."""
    try:
        return YAML(typ="safe", pure=False).load(text)
    except (YAMLError, ValueError):
        return YAML(typ="safe", pure=True).load(text)


def load_all(text: str) -> list[Any]:
    """Every document of the text, empty ones too; raises YAMLError."""
    try:
        return list(YAML(typ="safe", pure=False).load_all(text))
    except (YAMLError, ValueError):
        return list(YAML(typ="safe", pure=True).load_all(text))
