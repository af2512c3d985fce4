"""When each certificate of the cluster expires, and which ones must be renewed soon."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509

from talops.checks.after.wire import APID, KUBERNETES, expiry
from talops.errors import TalopsError, UnreachableError
from talops.kube import kubeconfig_file
from talops.machineconfig.places import TALOSCONFIG
from talops.pipeline.checks import failed, from_error, passed, unproven, warning
from talops.plural import count
from talops.talos import talosconfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.machineconfig.secrets.bundle import Bundle
    from talops.pipeline.checks import Finding
    from talops.site.connections import Connections
    from talops.site.site import Site


@dataclass(frozen=True)
class CertificateExpiry:
    """`notice`: how long before expiry to act; zero if Talos renews it automatically."""

    name: str
    at: datetime
    notice: timedelta
    hint: str


async def look(connections: Connections) -> list[Finding]:
    endings, unread = await expiries(connections)
    return [*judge(endings, datetime.now(UTC)), *unread]


async def expiries(connections: Connections) -> tuple[list[CertificateExpiry], list[Finding]]:
    """Every certificate that could be read, and why others could not."""
    bundle = await connections.bundle()
    files, unread = _files(connections.site)
    served = await _served(connections.site)
    endings = [
        *_authorities(bundle),
        *files,
        *(e for e in served if isinstance(e, CertificateExpiry)),
    ]
    silent = [finding for finding in served if not isinstance(finding, CertificateExpiry)]
    return endings, [*unread, *silent]


def judge(endings: Sequence[CertificateExpiry], now: datetime) -> list[Finding]:
    """In the order of expiry."""
    found = []
    for ending in sorted(endings, key=lambda e: e.at):
        left = ending.at - now
        day = f"{ending.at:%Y-%m-%d}"
        if left <= timedelta():
            what = f"{ending.name} expired on {day}"
            found.append(failed(what, hint=ending.hint, final=bool(ending.notice)))
        elif left < ending.notice:
            found.append(
                warning(f"{ending.name} expires on {day}, {_left(left)}", hint=ending.hint)
            )
        else:
            found.append(passed(f"{ending.name} expires on {day}, {_left(left)}"))
    return found


def _left(left: timedelta) -> str:
    return (
        f"in {count(left.days, 'day')}"
        if left.days
        else f"in {count(left.seconds // 3600, 'hour')}"
    )


def _authorities(bundle: Bundle) -> list[CertificateExpiry]:
    pairs = {"Talos": bundle.os, "Kubernetes": bundle.k8s, "etcd": bundle.etcd}
    pairs["aggregator"] = bundle.aggregator
    hint = "rotate the CA while the cluster is healthy: talops certificates"
    return [
        CertificateExpiry(
            f"the {name} CA", _end(base64.b64decode(pair.crt)), timedelta(days=180), hint
        )
        for name, pair in pairs.items()
    ]


def _files(site: Site) -> tuple[list[CertificateExpiry], list[Finding]]:
    """The client certificates in this directory; a file that does not exist is skipped."""
    month = timedelta(days=30)
    found, unread = [], []
    entry = kubeconfig_file.entry(site.kubeconfig, site.cluster.name)
    if entry:
        hint = "talops certificates renew"
        found.append(
            CertificateExpiry("the kubeconfig's certificate", entry.expires(), month, hint)
        )
    path = site.root / TALOSCONFIG
    if path.exists():
        try:
            context = talosconfig.pick(talosconfig.read(path))
            at = talosconfig.credentials_of(context).expires
        except TalopsError as error:
            unread.append(from_error(error))
        else:
            hint = "talops certificates renew"
            found.append(CertificateExpiry("the talosconfig's certificate", at, month, hint))
    return found, unread


async def _served(site: Site) -> list[CertificateExpiry | Finding]:
    """The server certificates of the nodes. Talos renews them: only expiry matters."""
    nodes = site.cluster.nodes
    places = [(f"apid of {node.name}", str(node.address), APID) for node in nodes]
    places += [
        (f"the API server of {node.name}", str(node.address), KUBERNETES)
        for node in site.cluster.control_planes
    ]
    return list(await asyncio.gather(*(_shown(*place) for place in places)))


async def _shown(name: str, host: str, port: int) -> CertificateExpiry | Finding:
    try:
        at = await expiry(host, port)
    except UnreachableError as error:
        return unproven(f"cannot read the certificate of {name}: {error.what}", error.where)
    return CertificateExpiry(name, at, timedelta(), f"talops talos services --nodes {host}")


def _end(pem: bytes) -> datetime:
    return x509.load_pem_x509_certificate(pem).not_valid_after_utc
