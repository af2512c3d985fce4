"""Make a short-lived kubeconfig or talosconfig for a colleague or a CI job."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from talops.app.access import ledger
from talops.errors import TalopsError
from talops.kube.client import KubeClient
from talops.kube.kubeconfig import parse
from talops.machineconfig.secrets import pki, talosconfig
from talops.machineconfig.secrets.kubeconfig import admin_kubeconfig, kubeconfig
from talops.redaction import Secret
from talops.talosconfig import Talosconfig

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from talops.app.access.ledger import Grant
    from talops.inventory.model import Cluster
    from talops.kube.objects import Object
    from talops.machineconfig.secrets.bundle import Bundle

TALOS_ROLES = ("os:reader", "os:operator", "os:etcd:backup", "os:admin")
LONGEST = timedelta(days=365)
SHORTEST = timedelta(minutes=1)
# Members of this group may do everything, whatever RBAC says; no object has to be created.
MASTERS = "system:masters"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,48}[a-z0-9])?")


@dataclass(frozen=True)
class Granted:
    """`binding` gives the user its rights in Kubernetes, and must be applied."""

    grant: Grant
    config: Secret
    binding: Object | None = None


def grant_talos(
    root: Path, cluster: Cluster, bundle: Bundle, name: str, role: str, life: Life
) -> Granted:
    _check(name, life.time)
    if role not in TALOS_ROLES:
        raise TalopsError(
            f"{role} is not a role of the Talos API",
            where="--role",
            hint=f"use one of: {', '.join(TALOS_ROLES)}",
        )
    context = talosconfig.context_of(cluster, bundle, life.start, (role,), life.time)
    pair = pki.Pair(context.crt, context.key)
    grant = ledger.grant_of(name, "talos", role, pair.certificate)
    ledger.add(root, grant)
    text = talosconfig.dump(Talosconfig(context.name, {context.name: context}))
    return Granted(grant, Secret(text))


def grant_kubernetes(
    root: Path, cluster: Cluster, bundle: Bundle, name: str, role: str, life: Life
) -> Granted:
    """`role` is a ClusterRole, such as view or edit, or the group system:masters."""
    _check(name, life.time)
    user = f"talops:{name}"
    groups = (MASTERS,) if role == MASTERS else ()
    pair = pki.kubernetes_client(bundle.k8s, user, groups, life.start, life.time)
    grant = ledger.grant_of(name, "kubernetes", role, pair.certificate)
    ledger.add(root, grant)
    text = kubeconfig(cluster.name, cluster.endpoint, bundle, f"{name}@{cluster.name}", pair)
    return Granted(grant, Secret(text), None if groups else binding(name, role))


@dataclass(frozen=True)
class Life:
    """From when, and for how long."""

    start: datetime
    time: timedelta


def binding(name: str, role: str) -> Object:
    """One per grantee and role: deleting it takes the rights away, not the certificate."""
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {
            "name": f"talops:{name}:{role}",
            "labels": {"app.kubernetes.io/managed-by": "talops"},
        },
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": f"talops:{name}"}],
    }


def _check(name: str, life: timedelta) -> None:
    if not _NAME.fullmatch(name):
        raise TalopsError(
            f"{name!r} is not a name for a grant",
            hint="use lower-case letters, digits, dots and hyphens, at most 50 characters",
        )
    if not SHORTEST <= life <= LONGEST:
        raise TalopsError(
            "a grant is valid for at least one minute and at most one year",
            where="--for",
            hint="for example: --for 8h",
        )


async def bind(cluster: Cluster, bundle: Bundle, wanted: Object, now: datetime) -> None:
    """With a certificate of this moment, which no file contains."""
    config = parse(admin_kubeconfig(cluster.name, cluster.endpoint, bundle, now), where="secrets")
    async with KubeClient(config) as kube:
        await kube.apply(wanted)
