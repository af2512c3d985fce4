"""Text of other systems, made visible: a terminal obeys none of it."""

from __future__ import annotations

import re

# What a terminal obeys, what reorders text, and half characters. Tab and line feed are text.
CONTROL = re.compile(
    r"[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Each control character as \u001b, the form that is also valid in JSON."""
    return CONTROL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
