"""Image Factory schematics by content: the id is computed without a request."""

from __future__ import annotations

import hashlib

QEMU_AGENT = "siderolabs/qemu-guest-agent"


def schematic_text(extensions: tuple[str, ...]) -> str:
    """The canonical YAML, as the Image Factory writes it before hashing."""
    if not extensions:
        return "customization: {}\n"
    rows = "".join(f"            - {name}\n" for name in extensions)
    return f"customization:\n    systemExtensions:\n        officialExtensions:\n{rows}"


def identify(text: str) -> str:
    """The id of a schematic in canonical form."""
    return hashlib.sha256(text.encode()).hexdigest()


def schematic_id(extensions: tuple[str, ...]) -> str:
    return identify(schematic_text(extensions))


EMPTY = schematic_id(())
AGENT_ONLY = schematic_id((QEMU_AGENT,))
