"""Import blocks: existing objects that OpenTofu takes into its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.render.hcl import text

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = "imports.tf"


def import_blocks(wanted: Mapping[str, str]) -> str:
    """Address → import ID."""
    return "\n".join(
        f"import {{\n  to = {address}\n  id = {text(identity)}\n}}\n"
        for address, identity in wanted.items()
    )
