"""A workload from end to end: deploy it, find it by name, get an answer, remove it."""

from __future__ import annotations

import secrets
from ipaddress import ip_address
from typing import TYPE_CHECKING

from talops.checks.after import workloads
from talops.errors import TalopsError, WaitTimeoutError
from talops.kube.objects import Ref
from talops.kube.waits import apply_all, wait_gone, wait_ready
from talops.pipeline.checks import failed, from_error, passed, unproven

if TYPE_CHECKING:
    from ipaddress import IPv4Network

    from talops.kube.client import KubeClient
    from talops.kube.objects import Object
    from talops.pipeline.checks import Finding
    from talops.site.connections import Connections

IMAGE = "registry.k8s.io/e2e-test-images/busybox:1.36.1-1"
NAME = "talops-smoke"
PORT = 8080
SECONDS = 100.0


async def look(connections: Connections) -> list[Finding]:
    async with connections.kube() as kube:
        if not await workloads.are_run(kube):
            return await _accepted(kube)
        return await _run(kube, connections.site.cluster.svc_cidr)


async def _accepted(kube: KubeClient) -> list[Finding]:
    """Without controllers no pod would start: validate the objects with a dry run only."""
    for obj in workload("default", "0"):
        await kube.apply(obj, dry_run=True)
    return [
        passed("Deployment, Service and Job are accepted (server-side dry run)"),
        unproven(f"pods, DNS and the Service are not tested: {workloads.NO_CONTROLLERS}"),
    ]


async def _run(kube: KubeClient, services: IPv4Network) -> list[Finding]:
    token = secrets.token_hex(4)
    space = f"{NAME}-{token}"
    namespace = Ref("v1", "Namespace", space)
    labels = {"app.kubernetes.io/managed-by": "talops"}
    made = {**_head("v1", "Namespace", space), "metadata": {"name": space, "labels": labels}}
    found: list[Finding] = []
    try:
        await apply_all(kube, [made, *workload(space, token)], timeout=SECONDS)
        found += await _proofs(kube, space, services)
    except TalopsError as error:
        found.append(from_error(error))
    finally:
        await kube.delete(namespace)
    try:
        await wait_gone(kube, namespace, timeout=SECONDS)
    except WaitTimeoutError as error:
        return [*found, failed(error.what, hint=f"kubectl delete namespace {space}")]
    return [*found, passed("removed the workload and its namespace")]


async def _proofs(kube: KubeClient, space: str, services: IPv4Network) -> list[Finding]:
    service = await kube.get(Ref("v1", "Service", NAME, space))
    found = [_address(service, services)]
    for kind, api, what in (
        ("Deployment", "apps/v1", "a pod was scheduled, pulled its image, and serves"),
        ("Job", "batch/v1", "a second pod resolved the Service by name and got the answer"),
    ):
        try:
            await wait_ready(kube, Ref(api, kind, NAME, space), timeout=SECONDS)
        except TalopsError as error:
            return [*found, failed(error.what, hint="kubectl get events -A | grep talops-smoke")]
        found.append(passed(what))
    return found


def _address(service: Object | None, services: IPv4Network) -> Finding:
    address = ((service or {}).get("spec") or {}).get("clusterIP", "")
    if address and ip_address(address) in services:
        return passed(f"the Service has the address {address} of {services}")
    return failed(f"the Service has no address of {services}: {address or 'none'}")


def workload(space: str, token: str) -> list[Object]:
    """A web server, its Service, and a job that resolves its DNS name and reads the token."""
    url = f"http://{NAME}.{space}.svc:{PORT}/token"
    serve = f"mkdir -p /tmp/w && echo {token} > /tmp/w/token && exec httpd -f -p {PORT} -h /tmp/w"
    ask = f"for i in $(seq 30); do wget -qO- -T 5 {url} | grep -qx {token} && exit 0; sleep 1; done"
    selector = {"app": NAME}
    server = {"selector": {"matchLabels": selector}, "replicas": 1, "template": _pod("web", serve)}
    job = {"backoffLimit": 1, "template": _pod("client", f"{ask}; exit 1", restart="Never")}
    front = {"selector": selector, "ports": [{"port": PORT, "targetPort": PORT}]}
    return [
        {**_head("v1", "Service", NAME, space), "spec": front},
        {**_head("apps/v1", "Deployment", NAME, space), "spec": server},
        {**_head("batch/v1", "Job", NAME, space), "spec": job},
    ]


def _head(api: str, kind: str, name: str, space: str | None = None) -> Object:
    meta = {"name": name, **({"namespace": space} if space else {})}
    return {"apiVersion": api, "kind": kind, "metadata": meta}


def _pod(role: str, command: str, restart: str = "Always") -> Object:
    """Meets the restricted pod security standard."""
    container = {
        "name": role,
        "image": IMAGE,
        "command": ["sh", "-c", command],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    return {
        "metadata": {"labels": {"app": NAME if role == "web" else f"{NAME}-{role}"}},
        "spec": {
            "restartPolicy": restart,
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65534,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
        },
    }
