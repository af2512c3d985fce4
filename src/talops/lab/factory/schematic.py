"""Schematics: the canonical YAML, whose SHA-256 is the schematic's id."""

from __future__ import annotations

import hashlib
import re
from typing import Any

# The order of the fields is part of the canonical form.
TOP = ("owner", "overlay", "customization")
CUSTOMIZATION = (
    "embeddedMachineConfiguration",
    "extraKernelArgs",
    "meta",
    "systemExtensions",
    "bootloader",
    "secureboot",
    "diskImage",
)
FIELDS: dict[str, tuple[str, ...]] = {
    "": TOP,
    "overlay": ("image", "name", "options"),
    "customization": CUSTOMIZATION,
    "customization.meta": ("key", "value"),
    "customization.systemExtensions": ("officialExtensions",),
    "customization.secureboot": ("includeWellKnownCertificates",),
}
FREE = {"overlay.options", "customization.diskImage"}
PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./=+:@,-]*")
AMBIGUOUS = re.compile(r"(?i)(true|false|yes|no|on|off|null|~|y|n|[-+.]?\d[\d_.:xobe+-]*)")


class SchematicError(ValueError):
    pass


def canonical(raw: Any) -> str:
    """The YAML text that the real factory would hash."""
    if raw is None:
        raw = {}
    if not isinstance(raw, dict):
        raise SchematicError("a schematic is a mapping")
    _check(raw, "")
    ordered = _order(raw, "")
    ordered.setdefault("customization", {})
    return _dump(ordered, 0)


def schematic_id(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _check(value: dict[str, Any], path: str) -> None:
    known = FIELDS.get(path)
    if known is None or path in FREE:
        return
    for key, inner in value.items():
        if key not in known:
            raise SchematicError(
                f"field {key} not found in type schematic{'.' + path if path else ''}"
            )
        below = f"{path}.{key}".lstrip(".")
        for one in inner if isinstance(inner, list) else [inner]:
            if isinstance(one, dict):
                _check(one, below)


def _order(value: Any, path: str) -> Any:
    """Known fields in their order, empty ones left out."""
    if isinstance(value, list):
        return [_order(item, path) for item in value]
    if not isinstance(value, dict):
        return value
    known = FIELDS.get(path)
    keys = [key for key in known if key in value] if known else sorted(value)
    ordered = {key: _order(value[key], f"{path}.{key}".lstrip(".")) for key in keys}
    return {key: inner for key, inner in ordered.items() if inner not in (None, "", [], {}, False)}


def _dump(value: dict[str, Any], indent: int) -> str:
    lines = []
    for key, inner in value.items():
        lines.append(f"{' ' * indent}{key}:{_inline(inner, indent)}")
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def _inline(value: Any, indent: int) -> str:
    if isinstance(value, dict):
        return "\n" + _dump(value, indent + 4) if value else " {}"
    if isinstance(value, list):
        return "\n" + "".join(_item(item, indent + 4) for item in value)
    return f" {_scalar(value, indent)}"


def _item(value: Any, indent: int) -> str:
    pad = " " * indent
    if isinstance(value, dict):
        body = _dump(value, indent + 2)
        return f"{pad}- {body.lstrip()}"
    return f"{pad}- {_scalar(value, indent)}\n"


def _scalar(value: Any, indent: int) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    text = str(value)
    if "\n" in text:
        pad = " " * (indent + 4)
        marker = "|" if text.endswith("\n") else "|-"
        return f"{marker}\n" + "".join(f"{pad}{line}\n" for line in text.splitlines())
    if PLAIN.fullmatch(text) and not AMBIGUOUS.fullmatch(text):
        return text
    if (
        ": " in text
        or " #" in text
        or not re.match(r"[A-Za-z0-9_./-]", text)
        or AMBIGUOUS.fullmatch(text)
    ):
        return "'" + text.replace("'", "''") + "'" if "'" in text else f'"{text}"'
    return text
