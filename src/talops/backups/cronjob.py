"""A CronJob that backs up etcd from inside of the cluster. Pure.

It runs siderolabs/talos-backup with a Talos role that may do nothing but snapshots. That program
encrypts for one age key and uploads `CLUSTER-TIME.snap.age`; it has no key of the cluster, so it
cannot sign a manifest: `talops backup adopt` proves what it uploaded and makes backups of it.
Its plain files are in its working directory, which is in memory here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.machineconfig.yamltext import dump, dump_all

if TYPE_CHECKING:
    from talops.machineconfig.contract import Contract

IMAGE = "ghcr.io/siderolabs/talos-backup:v0.1.0-beta.2"
ROLE = "os:etcd:backup"
NAME = "talops-backup"
BUCKET_KEYS = "talops-backup-s3"
_FOLDER = "/snapshot"
_API = "/var/run/secrets/talos.dev"


@dataclass(frozen=True)
class Target:
    """Where to, and for which age key."""

    cluster: str
    contract: Contract
    store: str
    region: str
    endpoint: str
    recipient: str

    @property
    def bucket(self) -> str:
        if not self.store.startswith("s3://"):
            raise TalopsError(
                "a CronJob needs a store that outlives the cluster, and this one is a directory",
                where="store: of backup: in cluster.yaml",
                hint="write s3://BUCKET/PREFIX, or use talops backup schedule systemd",
            )
        return self.store.removeprefix("s3://").partition("/")[0]

    @property
    def prefix(self) -> str:
        """Each cluster has a folder of its own in the store."""
        inside = self.store.removeprefix("s3://").partition("/")[2]
        return f"{inside.strip('/')}/{self.cluster}".strip("/")


def cronjob(target: Target, hour: int, minute: int) -> str:
    """Objects for kubectl, headed by what has to be done first."""
    head = f"""\
# 1. Allow the namespace to use this role of the Talos API: a patch of the control planes
#    (controller_patches in cluster.yaml), then talops up:
{_commented(dump(access_patch(target.contract)))}
# 2. kubectl apply -f THIS_FILE
# 3. The keys of the bucket:
#    kubectl -n {NAME} create secret generic {BUCKET_KEYS} \\
#      --from-literal=AWS_ACCESS_KEY_ID=… --from-literal=AWS_SECRET_ACCESS_KEY=…
# 4. Regularly, where the age key is: talops backup adopt && talops backup prune --yes
"""
    return head + dump_all(objects(target, hour, minute))


def access_patch(contract: Contract) -> dict[str, Any]:
    allowed = {"allowedRoles": [ROLE], "allowedKubernetesNamespaces": [NAME]}
    if contract.splits_documents:
        return {"apiVersion": "v1alpha1", "kind": "KubeTalosAPIAccessConfig", **allowed}
    return {"machine": {"features": {"kubernetesTalosAPIAccess": {"enabled": True, **allowed}}}}


def objects(target: Target, hour: int, minute: int) -> list[dict[str, Any]]:
    named = {"name": NAME, "namespace": NAME}
    job = {
        "backoffLimit": 2,
        "activeDeadlineSeconds": 3600,
        "template": {"spec": _pod(target)},
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}},
        {
            "apiVersion": "talos.dev/v1alpha1",
            "kind": "ServiceAccount",
            "metadata": named,
            "spec": {"roles": [ROLE]},
        },
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": named,
            "spec": {
                "schedule": f"{minute} {hour} * * *",
                "concurrencyPolicy": "Forbid",
                "jobTemplate": {"spec": job},
            },
        },
    ]


def _pod(target: Target) -> dict[str, Any]:
    values = {
        "CLUSTER_NAME": target.cluster,
        "BUCKET": target.bucket,
        "S3_PREFIX": target.prefix,
        "AWS_REGION": target.region,
        "CUSTOM_S3_ENDPOINT": target.endpoint,
        "AGE_X25519_PUBLIC_KEY": target.recipient,
        "USE_PATH_STYLE": "true" if target.endpoint else "",
    }
    container = {
        "name": NAME,
        "image": IMAGE,
        "workingDir": _FOLDER,
        "env": [{"name": name, "value": value} for name, value in values.items() if value],
        "envFrom": [{"secretRef": {"name": BUCKET_KEYS}}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "snapshot", "mountPath": _FOLDER},
            {"name": "talos-api", "mountPath": _API, "readOnly": True},
        ],
    }
    user = 1000
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": user,
            "runAsGroup": user,
            "fsGroup": user,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [
            # The plain snapshot: in memory, never on the disk of a node.
            {"name": "snapshot", "emptyDir": {"medium": "Memory"}},
            {"name": "talos-api", "secret": {"secretName": NAME}},
        ],
    }


def _commented(text: str) -> str:
    return "\n".join(f"#      {line}" for line in text.splitlines())
