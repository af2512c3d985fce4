"""Count the resources in a state file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from pathlib import Path


def resource_count(path: Path) -> int | None:
    """Number of managed resources in a local state; 0 without a file, None if it is encrypted."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise TalopsError(f"cannot read the state: {error.strerror}", where=str(path)) from error
    return resources_in(data, str(path))


def resources_in(data: bytes, where: str = "") -> int | None:
    """Number of managed resources; None if the state is encrypted."""
    if not data.strip():
        return 0
    try:
        state = json.loads(data)
        if "encrypted_data" in state:
            return None
        return sum(
            len(resource.get("instances", ()))
            for resource in state.get("resources", ())
            if resource.get("mode") == "managed"
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise TalopsError(
            "this is not a state", where=where or None, hint="talops state versions"
        ) from error
