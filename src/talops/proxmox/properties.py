"""Property strings of a VM's config: `virtio=BC:…,bridge=vmbr0,tag=20`."""

from __future__ import annotations

import re

_INDEXED = re.compile(r"[0-9]{1,4}\Z")


def parse(text: str, first: str) -> dict[str, str]:
    """Parts by name; a bare first word goes under `first`."""
    found: dict[str, str] = {}
    for part in str(text).split(","):
        if not part:
            continue
        key, separator, value = part.partition("=")
        found[key if separator else first] = value if separator else part
    return found


def indexed(config: dict[str, object], prefix: str) -> list[str]:
    """The values of net0, net1 … for `net`, in order of their numbers."""
    keys = [k for k in config if _INDEXED.sub("", k) == prefix and k != prefix]
    return [str(config[k]) for k in sorted(keys, key=lambda k: int(k.removeprefix(prefix)))]
