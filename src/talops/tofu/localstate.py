"""Read a local state file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def resource_count(path: Path) -> int:
    """Number of managed resources in a state file; 0 without a file, 1 if it cannot be read."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return 0
    except (OSError, ValueError):
        return 1
    if "encrypted_data" in state:
        return 1
    return sum(
        len(resource.get("instances", ()))
        for resource in state.get("resources", ())
        if resource.get("mode") == "managed"
    )
