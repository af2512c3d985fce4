"""The moment between maintenance mode and a node's own certificate, as real 1.13 nodes live it."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID
from google.protobuf.empty_pb2 import Empty
from grpclib.client import Channel
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from tests.lab.talos.harness import Lab, until

from talops.lab.kubernetes.pki import client_context
from talops.lab.talos.machine.settings import Timing
from talops.lab.talos.machine.stages import Stage
from talops.talos.wire.machine_grpc import MachineServiceStub
from talops.talos.wire.machine_pb2 import ApplyConfigurationRequest, RebootRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

_NO_ISSUER = 20  # OpenSSL's number for a leaf whose authority is not known


async def _none(name: str) -> Path:
    raise AssertionError(name)


@pytest.fixture
async def slow_lab(tmp_path: Path) -> AsyncIterator[Lab]:
    """Nodes that take long to swap their authoriser."""
    made = Lab(tmp_path, _none, timing=Timing(scale=0.0, swap=(0.3, 0.3), authoriser=1.0))
    try:
        yield made
    finally:
        await made.close()


async def shown(lab: Lab, name: str) -> x509.Certificate:
    """The certificate of a new connection; a closed port is an error."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection(lab.address(name), 50000, ssl=context)
    der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.transport.abort()
    return x509.load_der_x509_certificate(der)


def common_name(certificate: x509.Certificate) -> str:
    return str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


async def test_an_unknown_authority_signs_in_maintenance(lab: Lab) -> None:
    """As recorded (MaintenanceRootSecrets): a CA without a name, so no self-signed leaf."""
    await lab.start("cp-1")
    await lab.listening("cp-1")
    certificate = await shown(lab, "cp-1")
    assert common_name(certificate) == "maintenance-service.talos.dev"
    assert certificate.issuer == x509.Name([])
    context = client_context(lab.files.os_ca.crt, lab.files.client())
    with pytest.raises(ssl.SSLCertVerificationError) as refused:
        await asyncio.open_connection(lab.address("cp-1"), 50000, ssl=context)
    assert refused.value.verify_code == _NO_ISSUER


async def test_the_certificate_changes_while_the_port_stays_open(slow_lab: Lab) -> None:
    """A client that reconnects sees the old, then the new, and never a refusal."""
    lab = slow_lab
    await lab.start("cp-1")
    await lab.apply("cp-1", lab.files.config("controlplane", "cp-1"))
    seen: list[str] = []
    while not lab.node("cp-1").api_up:
        seen.append(common_name(await shown(lab, "cp-1")))
    assert list(dict.fromkeys(seen)) == ["maintenance-service.talos.dev", "cp-1"]


async def test_new_certificate_and_old_authoriser(slow_lab: Lab) -> None:
    """For a moment an administrator is a reader: versions yes, reboots and configs no."""
    lab = slow_lab
    await lab.start("cp-1")
    await lab.apply("cp-1", lab.files.config("controlplane", "cp-1"))
    api = lab.api("cp-1")
    await until(lambda: api.Version(Empty()))
    again = ApplyConfigurationRequest(data=lab.files.config("controlplane", "cp-1"))
    for call in (api.Reboot(RebootRequest()), api.ApplyConfiguration(again)):
        with pytest.raises(GRPCError) as refused:
            await call
        assert (refused.value.status, refused.value.message) == (
            Status.PERMISSION_DENIED,
            "not authorized",
        )
    await lab.up("cp-1")
    assert (await api.Reboot(RebootRequest())).messages


async def test_older_nodes_close_the_port(lab: Lab) -> None:
    """Before 1.13 maintenance mode has a server of its own, which ends before apid starts."""
    await lab.start("cp-1", version="v1.12.4")
    await lab.configure("cp-1")
    await lab.up("cp-1")
    assert common_name(await shown(lab, "cp-1")) == "cp-1"


async def test_a_worker_waits_for_trustd_at_the_shared_address(tmp_path: Path) -> None:
    """Without discovery it knows only the endpoint, and nothing answers there before etcd does."""
    lab = Lab(tmp_path, _none, discovery=False)
    try:
        await lab.start("cp-1", "w-1")
        vip = {"apiVersion": "v1alpha1", "kind": "Layer2VIPConfig", "link": "eth0"}
        vip["name"] = f"{lab.network}.250"
        await lab.configure("cp-1", vip)
        await lab.up("cp-1")
        await lab.configure("w-1")
        await lab.stage("w-1", Stage.BOOTING, ready=False)
        worker = lab.node("w-1")
        assert lab.host.fabric.trustd(worker) is None
        channel = Channel(lab.address("w-1"), 50000, ssl=lab.channel("cp-1")._ssl)
        with pytest.raises(OSError, match="Connect"):
            await MachineServiceStub(channel).Version(Empty())
        lab.node("cp-1").control_plane.serving.ready = True  # what a bootstrap ends with
        await lab.host.fabric.settle_vips()
        await lab.up("w-1")
    finally:
        await lab.close()


async def test_a_worker_finds_trustd_by_discovery(lab: Lab) -> None:
    """With discovery any configured control plane signs, long before etcd."""
    await lab.start("cp-1", "w-1")
    for name in lab.machines:
        await lab.configure(name)
    await lab.up("w-1")
    assert not lab.node("cp-1").control_plane.api_ready
