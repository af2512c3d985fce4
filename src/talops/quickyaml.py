"""Plain data from YAML text: by the C parser, or by the Python parser if the C parser fails.

The C parser is about ten times faster and reads every scalar the same way, but it does not support
all of YAML 1.2, such as `[https://…]`. If it fails, the Python parser decides and reports errors.
"""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError


def load(text: str) -> Any:
    """Parse text with one document; raises YAMLError."""
    try:
        return YAML(typ="safe", pure=False).load(text)
    except (YAMLError, ValueError):
        return YAML(typ="safe", pure=True).load(text)


def load_all(text: str) -> list[Any]:
    """Parse all documents of the text, including empty ones; raises YAMLError."""
    try:
        return list(YAML(typ="safe", pure=False).load_all(text))
    except (YAMLError, ValueError):
        return list(YAML(typ="safe", pure=True).load_all(text))
