"""Make, renew, read and write the talosconfig of a cluster."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.machineconfig import yamltext
from talops.machineconfig.secrets import pki
from talops.talosconfig import Context, Talosconfig, from_data

if TYPE_CHECKING:
    from datetime import datetime

    from talops.inventory.model import Cluster
    from talops.machineconfig.secrets.bundle import Bundle

ADMIN = "os:admin"
# A certificate that expires sooner is replaced.
RENEW_BEFORE = timedelta(days=60)


def new_context(
    name: str,
    bundle: Bundle,
    *,
    endpoints: tuple[str, ...],
    nodes: tuple[str, ...],
    now: datetime,
    roles: tuple[str, ...] = (ADMIN,),
    lifetime: timedelta = pki.CLIENT_LIFETIME,
) -> Context:
    pair = pki.talos_client(bundle.os, roles, now, lifetime)
    return Context(name, endpoints, nodes, bundle.trusted_os, pair.crt, pair.key)


def context_of(
    cluster: Cluster,
    bundle: Bundle,
    now: datetime,
    roles: tuple[str, ...] = (ADMIN,),
    lifetime: timedelta = pki.CLIENT_LIFETIME,
) -> Context:
    """An entry with all control planes as endpoints: not the VIP, which moves between nodes."""
    return new_context(
        cluster.name,
        bundle,
        endpoints=tuple(str(node.address) for node in cluster.control_planes),
        nodes=tuple(str(node.address) for node in cluster.nodes),
        now=now,
        roles=roles,
        lifetime=lifetime,
    )


def expires(context: Context) -> datetime:
    return pki.Pair(context.crt, context.key).certificate.not_valid_after_utc


def _issuer(context: Context) -> bytes:
    """The key id of the CA: all CAs of Talos have the same name."""
    certificate = pki.Pair(context.crt, context.key).certificate
    return pki.issuer_id(certificate)


def keep_or_renew(present: Context | None, wanted: Context, now: datetime) -> Context:
    """Keep the current certificate while it is valid, so that repeated runs write the same file."""
    if present is None or present.ca != wanted.ca or expires(present) - now < RENEW_BEFORE:
        return wanted
    if _issuer(present) != _issuer(wanted):  # the CA of the cluster has been rotated
        return wanted
    return replace(present, name=wanted.name, endpoints=wanted.endpoints, nodes=wanted.nodes)


def dump(config: Talosconfig) -> str:
    return yamltext.dump(config.to_data())


def parse(text: str, *, where: str) -> Talosconfig:
    """Every context is complete: what is read here is written again."""
    found = from_data(yamltext.load(text, where=where))
    if found is None:
        raise TalopsError("not a talosconfig", where=where)
    for name, context in found.contexts.items():
        given = {"ca": context.ca, "crt": context.crt, "key": context.key.reveal()}
        missing = [key for key, value in given.items() if not value]
        if missing:
            raise TalopsError(
                f"context {name} has no {', '.join(missing)}",
                where=where,
                hint="generate it again: talops talos gen-config",
            )
    return found
