"""A talosconfig: clusters, their endpoints, and the certificates to use there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from talops.redaction import Secret


@dataclass(frozen=True)
class Context:
    """One cluster: requests go to `endpoints` and are for `nodes`. `ca`, `crt` and `key` are base64
    of PEM, as in the file.
    """

    name: str
    endpoints: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    ca: str = ""
    crt: str = ""
    key: Secret = field(default_factory=lambda: Secret(""))
    # Fields written by other tools, kept unchanged.
    other: dict[str, Any] = field(default_factory=dict, repr=False)

    def to_data(self) -> dict[str, Any]:
        own: dict[str, Any] = {"endpoints": list(self.endpoints)}
        if self.nodes:
            own["nodes"] = list(self.nodes)
        return {**own, **self.other, "ca": self.ca, "crt": self.crt, "key": self.key.reveal()}


@dataclass(frozen=True)
class Talosconfig:
    """`context` is the name of the current one; "" if none is selected."""

    context: str
    contexts: dict[str, Context]

    def to_data(self) -> dict[str, Any]:
        entries = {name: context.to_data() for name, context in self.contexts.items()}
        return {"context": self.context, "contexts": entries}


def from_data(data: Any) -> Talosconfig | None:
    """None: this is not a talosconfig. A context without certificates is one that cannot be used,
    not a reason to refuse the others.
    """
    entries = data.get("contexts") if isinstance(data, dict) else None
    if not isinstance(entries, dict):
        return None
    if not all(isinstance(entry, dict | None) for entry in entries.values()):
        return None
    contexts = {str(name): _context(str(name), entry or {}) for name, entry in entries.items()}
    return Talosconfig(str(data.get("context") or ""), contexts)


def _context(name: str, entry: dict[str, Any]) -> Context:
    given = dict(entry)
    ca, crt, key = (str(given.pop(field, None) or "") for field in ("ca", "crt", "key"))
    endpoints, nodes = (_names(given.pop(field, None)) for field in ("endpoints", "nodes"))
    return Context(name, endpoints, nodes, ca, crt, Secret(key), given)


def _names(value: Any) -> tuple[str, ...]:
    return tuple(str(name) for name in value) if isinstance(value, list | tuple) else ()
