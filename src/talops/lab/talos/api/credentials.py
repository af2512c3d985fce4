"""Credentials that a control plane issues: a kubeconfig, a talosconfig."""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import tarfile
import time
from typing import TYPE_CHECKING

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talops.lab.kubernetes.pki import Authority, Subject, talos_key_label
from talops.lab.talos.api.common import require_control_plane
from talops.lab.talos.call import Api
from talops.lab.talos.config.decoding import to_yaml
from talops.talos.wire import common_pb2, machine_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from google.protobuf.empty_pb2 import Empty

    from talops.lab.talos.config.document import MachineConfig


class CredentialsApi(Api):
    """machine.MachineService: Kubeconfig and GenerateClientConfiguration."""

    SERVICE = "machine.MachineService"

    async def kubeconfig(self, _: Empty) -> AsyncIterator[common_pb2.Data]:
        config = require_control_plane(self.node, "kubeconfig")
        if not config.authority("ca").key:
            raise GRPCError(Status.FAILED_PRECONDITION, "k8s API server CA config is not set")
        yield common_pb2.Data(bytes=_unterminated_tar("kubeconfig", _kubeconfig(config)))

    async def generate_client_configuration(
        self, request: machine_pb2.GenerateClientConfigurationRequest
    ) -> machine_pb2.GenerateClientConfiguration:
        config = require_control_plane(self.node, "client configuration")
        seconds = request.crt_ttl.ToSeconds() if request.HasField("crt_ttl") else 0
        if seconds <= 0:
            raise GRPCError(Status.INVALID_ARGUMENT, "crt_ttl should be positive")
        lifetime = dt.timedelta(seconds=seconds)
        subject = Subject(organizations=tuple(request.roles), client=True, lifetime=lifetime)
        pair = Authority(config.os_ca).issue(subject)
        key = talos_key_label(pair.key)
        context = {
            "endpoints": list(self.node.addresses[:1]),
            "ca": _b64(config.os_ca.crt),
            "crt": _b64(pair.crt),
            "key": _b64(key),
        }
        name = config.cluster_name
        talosconfig = to_yaml({"context": name, "contexts": {name: context}}).encode()
        return machine_pb2.GenerateClientConfiguration(
            ca=config.os_ca.crt, crt=pair.crt, key=key, talosconfig=talosconfig
        )


def _kubeconfig(config: MachineConfig) -> bytes:
    authority, cluster = config.authority("ca"), config.cluster_name
    pair = Authority(authority).issue(Subject("admin", ("system:masters",), client=True))
    user = f"admin@{cluster}"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": cluster,
                "cluster": {
                    "server": config.endpoint,
                    "certificate-authority-data": _b64(authority.crt),
                },
            }
        ],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": _b64(pair.crt),
                    "client-key-data": _b64(pair.key),
                },
            }
        ],
        "contexts": [
            {
                "name": user,
                "context": {"cluster": cluster, "namespace": "default", "user": user},
            }
        ],
        "current-context": user,
    }
    return to_yaml(content).encode()


def _unterminated_tar(name: str, content: bytes) -> bytes:
    """Talos closes the gzip stream but never the archive: no padding, no end blocks."""
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = len(content), 0o600, int(time.time())
    return gzip.compress(info.tobuf(tarfile.USTAR_FORMAT) + content)


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()
