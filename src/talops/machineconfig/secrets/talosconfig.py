"""talosconfig: endpoints and credentials for the nodes of a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.machineconfig import yamltext
from talops.machineconfig.secrets import pki
from talops.redaction import Secret

if TYPE_CHECKING:
    from datetime import datetime

    from talops.inventory.model import Cluster
    from talops.machineconfig.secrets.bundle import Bundle

ADMIN = "os:admin"
# A certificate that expires sooner is replaced.
RENEW_BEFORE = timedelta(days=60)


@dataclass(frozen=True)
class Context:
    """The entry of a cluster. Endpoints are nodes, not the VIP, which moves between nodes."""

    name: str
    endpoints: tuple[str, ...]
    nodes: tuple[str, ...]
    ca: str
    crt: str
    key: Secret
    # Fields written by other tools, kept unchanged.
    other: dict[str, Any] = field(default_factory=dict, repr=False)

    def to_data(self) -> dict[str, Any]:
        own: dict[str, Any] = {"endpoints": list(self.endpoints)}
        if self.nodes:
            own["nodes"] = list(self.nodes)
        return {**own, **self.other, "ca": self.ca, "crt": self.crt, "key": self.key.reveal()}

    def expires(self) -> datetime:
        return pki.Pair(self.crt, self.key).certificate.not_valid_after_utc


def new_context(
    name: str,
    bundle: Bundle,
    *,
    endpoints: tuple[str, ...],
    nodes: tuple[str, ...],
    now: datetime,
    roles: tuple[str, ...] = (ADMIN,),
) -> Context:
    pair = pki.talos_client(bundle.os, roles, now)
    return Context(name, endpoints, nodes, bundle.os.crt, pair.crt, pair.key)


def context_of(cluster: Cluster, bundle: Bundle, now: datetime) -> Context:
    """An entry with the admin role, with all control planes as endpoints."""
    return new_context(
        cluster.name,
        bundle,
        endpoints=tuple(str(node.address) for node in cluster.control_planes),
        nodes=tuple(str(node.address) for node in cluster.nodes),
        now=now,
    )


def keep_or_renew(present: Context | None, wanted: Context, now: datetime) -> Context:
    """Keep the current certificate while it is valid, so that repeated runs write the same file."""
    if present is None or present.ca != wanted.ca or present.expires() - now < RENEW_BEFORE:
        return wanted
    return Context(
        wanted.name,
        wanted.endpoints,
        wanted.nodes,
        present.ca,
        present.crt,
        present.key,
        present.other,
    )


def dump(contexts: dict[str, Context], current: str) -> str:
    entries = {name: context.to_data() for name, context in contexts.items()}
    return yamltext.dump({"context": current, "contexts": entries})


def parse(text: str, *, where: str) -> tuple[str, dict[str, Context]]:
    """The current context's name, and every context."""
    data = yamltext.load(text, where=where)
    entries = data.get("contexts") if isinstance(data, dict) else None
    if not isinstance(entries, dict):
        raise TalopsError("not a talosconfig", where=where)
    found = {str(name): _context(str(name), entry, where) for name, entry in entries.items()}
    return str(data.get("context") or ""), found


def _context(name: str, entry: Any, where: str) -> Context:
    given = dict(entry) if isinstance(entry, dict) else {}
    texts = {key: str(given.pop(key, None) or "") for key in ("ca", "crt", "key")}
    lists = {key: tuple(given.pop(key, None) or ()) for key in ("endpoints", "nodes")}
    missing = [key for key, value in texts.items() if not value]
    if missing:
        raise TalopsError(
            f"context {name} has no {', '.join(missing)}",
            where=where,
            hint="generate it again: talops talos gen-config",
        )
    return Context(
        name,
        lists["endpoints"],
        lists["nodes"],
        texts["ca"],
        texts["crt"],
        Secret(texts["key"]),
        given,
    )
