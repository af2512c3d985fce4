"""What the secrets file of a cluster contains: CAs, keys and tokens. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from talops.app.access.model import Credential, Kind
from talops.machineconfig.secrets.rotating import AUTHORITIES, Rotated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.machineconfig.secrets.bundle import Bundle

CA_NOTICE = timedelta(days=180)
YOU = "you"
_NOT_BY_TALOS = "Talos cannot rotate it in a running cluster: create a new cluster instead"
_KEYS = {
    "service account key": "talops rotate service-account-key",
    "etcd encryption key": "talops rotate etcd-encryption-key",
    "machine token": "only with a new cluster: see docs/rotate.md",
    "bootstrap token": "only with a new cluster: see docs/rotate.md",
    "cluster secret": "only with a new cluster: it is the identity for discovery",
}


def bundled(bundle: Bundle, where: str) -> Iterator[Credential]:
    pairs = {
        "Talos CA": (bundle.os, "talops rotate talos-ca"),
        "Kubernetes CA": (bundle.k8s, "talops rotate kubernetes-ca"),
        "etcd CA": (bundle.etcd, _NOT_BY_TALOS),
        "aggregator CA": (bundle.aggregator, _NOT_BY_TALOS),
    }
    for name, (pair, how) in pairs.items():
        at = pair.certificate.not_valid_after_utc
        yield Credential(name, Kind.CA, where, YOU, how, at, CA_NOTICE)
    for rotated, rotation in bundle.rotations.items():
        pair = rotation.other
        end = pair.certificate.not_valid_after_utc if rotated in AUTHORITIES else None
        title = f"{_TITLES[rotated]}, rotation in phase {rotation.phase}"
        how = f"talops rotate {rotated}"
        yield Credential(title, Kind.CA if end else Kind.KEY, where, YOU, how, end)
    for name, how in _KEYS.items():
        kind = Kind.TOKEN if name.endswith("token") else Kind.KEY
        yield Credential(name, kind, where, YOU, how)


_TITLES = {
    Rotated.TALOS_CA: "other Talos CA",
    Rotated.KUBERNETES_CA: "other Kubernetes CA",
    Rotated.SERVICE_ACCOUNT: "other service account key",
    Rotated.ENCRYPTION: "other etcd encryption key",
}
