"""The state of a request path: `/<project>/<state>`, the older layout, and `…/lock`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

# Two names of 128 characters, the older prefix and /lock.
LONGEST = 300
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
# `backend "http"` blocks written for other servers use this prefix: only their host changes.
OLDER_LAYOUT = ("tfstate", "states")


@dataclass(frozen=True, slots=True)
class Target:
    """A state as `project/name`; `is_lock` when the path ends in /lock."""

    state: str
    is_lock: bool


def parse(path: str) -> Target | None:
    return _parse(path) if len(path) <= LONGEST else None


@lru_cache(maxsize=4096)
def _parse(path: str) -> Target | None:
    parts = path.split("/")[1:]
    if tuple(parts[:2]) == OLDER_LAYOUT and len(parts) > 2:  # noqa: PLR2004  (a name follows)
        parts = [OLDER_LAYOUT[0], *parts[2:]]
    is_lock = len(parts) == 3 and parts[2] == "lock"  # noqa: PLR2004  (project, state, lock)
    if len(parts) != 2 + is_lock:
        return None
    state = "/".join(parts[:2])
    return Target(state, is_lock) if is_name(state) else None


def is_name(state: str) -> bool:
    parts = state.split("/")
    # A state called "lock" would make its path ambiguous.
    return len(parts) == 2 and parts[1] != "lock" and all(NAME.match(part) for part in parts)  # noqa: PLR2004
