"""Which clients are accepted, which are not, and what a lost connection is called."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.empty_pb2 import Empty
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from tests.talos.conftest import FakeNode, server_context, serving

from talops.errors import TalopsError
from talops.talos.calling import PAUSES
from talops.talos.client import Talos, split_address
from talops.talos.credentials import Maintenance, spki_fingerprint
from talops.talos.errors import (
    ConfiguredError,
    FingerprintError,
    ForeignCertificateError,
    MaintenanceModeError,
    NodeDownError,
    OutcomeUnknownError,
    TalosconfigError,
    UnsupportedError,
    WrongCaError,
)
from talops.talos.transport import Link
from talops.talos.wire import cosi_pb2
from talops.talos.wire import machine_pb2 as pb

if TYPE_CHECKING:
    from pathlib import Path

    from tests.talos.conftest import Authority

VERSION = pb.VersionResponse(messages=[pb.Version(version=pb.VersionInfo(tag="v1.13.9"))])


async def test_right_certificate(talos: Talos, node: FakeNode) -> None:
    """A talosconfig key with Talos' own header opens the door."""
    node.on("Version", VERSION)
    assert (await talos.version()).release == (1, 13)


async def test_calls_that_come_together_share_a_connection(
    talos: Talos, node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One attempt serves all of them; the next call after a loss makes a new one."""
    node.on("Version", VERSION)
    attempts = count_attempts(monkeypatch)
    await asyncio.gather(*(talos.version() for _ in range(5)))
    assert len(attempts) == 1


async def test_calls_that_come_together_fail_together(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No call waits to learn again what another has just learned."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    attempts = count_attempts(monkeypatch)
    async with Talos.connect("127.0.0.1", authority.credentials(), port=port) as talos:
        calls = [talos.version() for _ in range(5)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(answer, NodeDownError) for answer in answers)
        assert len(attempts) == 1 + len(PAUSES)


async def test_a_caller_that_gives_up_leaves_the_others_their_attempt(
    talos: Talos, node: FakeNode
) -> None:
    """Cancelled while it waits for the connection that another call waits for too."""
    node.on("Version", VERSION)
    impatient, patient = (asyncio.ensure_future(talos.version()) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).release == (1, 13)
    with pytest.raises(asyncio.CancelledError):
        await impatient


def count_attempts(monkeypatch: pytest.MonkeyPatch) -> list[Link]:
    made: list[Link] = []
    plain = Link._create_connection

    async def counted(link: Link) -> Any:
        made.append(link)
        return await plain(link)

    monkeypatch.setattr(Link, "_create_connection", counted)
    return made


async def test_wrong_ca(node: FakeNode, authority: Authority) -> None:
    """A node of another cluster is recognized, though every Talos CA has the same name."""
    other = type(authority)()
    async with Talos.connect("127.0.0.1", other.credentials(), port=node.port) as talos:
        with pytest.raises(WrongCaError, match="not signed by the talosconfig's CA"):
            await talos.version()


async def test_foreign_client_certificate(node: FakeNode, authority: Authority) -> None:
    """The node refuses a certificate that its CA did not sign, and we say that."""
    pair = type(authority)().client()
    async with Talos.connect("127.0.0.1", authority.credentials(pair), port=node.port) as talos:
        with pytest.raises(ForeignCertificateError, match="does not accept our client"):
            await talos.version()


async def test_expired_client_certificate(node: FakeNode, authority: Authority) -> None:
    """An expired talosconfig is distinguished from a foreign one."""
    credentials = authority.credentials(authority.client(days=-0.5))
    async with Talos.connect("127.0.0.1", credentials, port=node.port) as talos:
        with pytest.raises(ForeignCertificateError, match="has expired") as caught:
            await talos.version()
    assert "fetch a new talosconfig" in (caught.value.hint or "")


async def test_refusal_with_an_alert(authority: Authority, tmp_path: Path) -> None:
    """A server that says why it refuses, as Go's do, is quoted."""
    context = server_context(authority.server(), authority.certificate, tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def refuse() -> None:
            accepted, _ = listener.accept()
            with accepted.dup() as open_still:
                with pytest.raises(ssl.SSLError):
                    context.wrap_socket(accepted, server_side=True)
                # Closing with unread data would reset the connection and lose the alert.
                while open_still.recv(4096):
                    pass

        refusing = asyncio.create_task(asyncio.to_thread(refuse))
        pair = type(authority)().client()
        async with Talos.connect("127.0.0.1", authority.credentials(pair), port=port) as talos:
            with pytest.raises(ForeignCertificateError, match="unknown ca"):
                await talos.machine.reboot()
        await refusing


async def test_address_missing_in_certificate(authority: Authority, tmp_path: Path) -> None:
    """A node reached by an address it does not claim is refused, with the way out."""
    pair = authority.server(sans=("10.0.0.9",))
    context = server_context(pair, authority.certificate, tmp_path)
    async with (
        serving(FakeNode(), context) as node,
        Talos.connect("127.0.0.1", authority.credentials(), port=node.port) as talos,
    ):
        with pytest.raises(WrongCaError, match="not for this address"):
            await talos.version()


async def test_a_closed_port(authority: Authority) -> None:
    """A node that is down is unreachable, and the call is known not to have been sent."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        async with Talos.connect("127.0.0.1", authority.credentials(), port=port) as talos:
            with pytest.raises(NodeDownError, match="cannot connect: Connection refused"):
                await talos.machine.bootstrap()


async def test_no_tls_there(authority: Authority) -> None:
    """A port with another protocol is named as such."""

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-hello\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, Talos.connect("127.0.0.1", authority.credentials(), port=port) as talos:
        with pytest.raises(NodeDownError, match="does not use TLS"):
            await talos.version()


async def test_maintenance_mode_is_recognized(maintenance: FakeNode, authority: Authority) -> None:
    """A node that waits for its config is "not yet", never "wrong cluster"."""
    port = maintenance.port
    async with Talos.connect("127.0.0.1", authority.credentials(), port=port) as talos:
        with pytest.raises(MaintenanceModeError, match="maintenance"):
            await talos.version()


async def test_maintenance_without_pin(maintenance: FakeNode) -> None:
    """Without a pin any certificate will do."""
    maintenance.on("Version", VERSION)
    async with Talos.connect("127.0.0.1", Maintenance(), port=maintenance.port) as talos:
        assert (await talos.version()).tag == "v1.13.9"


async def test_no_maintenance_any_more(node: FakeNode) -> None:
    """A node that has its config requires a certificate, and tells clients without one."""
    async with Talos.connect("127.0.0.1", Maintenance(), port=node.port) as talos:
        with pytest.raises(ConfiguredError, match="not in maintenance"):
            await talos.storage.disks()


async def test_maintenance_pinned(maintenance: FakeNode) -> None:
    """The right fingerprint passes, another one does not."""
    maintenance.on("Version", VERSION)
    pem = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", maintenance.port))
    pin = spki_fingerprint(ssl.PEM_cert_to_DER_cert(pem))
    for pins, right in (((pin,), True), (("A" * 43 + "=",), False), (("x", pin), True)):
        async with Talos.connect("127.0.0.1", Maintenance(pins), port=maintenance.port) as talos:
            if right:
                await talos.version()
            else:
                with pytest.raises(FingerprintError, match="not the pinned one"):
                    await talos.version()


async def test_lost_reply_of_an_unsafe_call(talos: Talos, node: FakeNode) -> None:
    """Whether a bootstrap happened is unknown when its reply is lost, and it is sent only once."""

    async def vanish(_: object, stream: object) -> None:
        stream._stream._transport.abort()  # type: ignore[attr-defined]  # grpclib's own stream
        await asyncio.Event().wait()

    node.on("Bootstrap", vanish)
    with pytest.raises(OutcomeUnknownError, match="unknown"):
        await talos.machine.bootstrap()
    assert len(node.requests("Bootstrap")) == 1


async def test_lost_reply_of_a_safe_call(talos: Talos, node: FakeNode) -> None:
    """A reading call survives a lost connection."""

    async def vanish_once(_: object, stream: object) -> pb.VersionResponse | None:
        if len(node.requests("Version")) == 1:
            stream._stream._transport.abort()  # type: ignore[attr-defined]  # grpclib's own stream
            return None
        return VERSION

    node.on("Version", vanish_once)
    assert (await talos.version()).tag == "v1.13.9"
    assert len(node.requests("Version")) == 2


async def test_broken_listing_is_read_again(talos: Talos, node: FakeNode) -> None:
    """A list that breaks off in the middle is never taken for the whole."""
    item = cosi_pb2.ListResponse(resource=cosi_pb2.Resource())

    async def break_once(_: object, stream: Any) -> Any:
        await stream.send_message(item)
        if len(node.requests("List")) == 1:
            stream._stream._transport.abort()
            return None
        return item

    node.on("List", break_once)
    assert len(await talos.resources.list("n", "T")) == 2
    assert len(node.requests("List")) == 2


async def test_retries_end(talos: Talos, node: FakeNode) -> None:
    """A node that stays unavailable is asked three times, no more."""
    node.on("Version", GRPCError(Status.UNAVAILABLE, "not now"))
    with pytest.raises(NodeDownError, match="not now"):
        await talos.version()
    assert len(node.requests("Version")) == 3


async def test_deadline(talos: Talos, node: FakeNode) -> None:
    """A node that never answers ends in an error after the deadline."""

    async def hang(_: object, __: object) -> None:
        await asyncio.Event().wait()

    node.on("Hostname", hang)
    with pytest.raises(NodeDownError, match="no answer in time"):
        await talos.caller.unary(talos.services._stub.Hostname, Empty(), timeout=0.2, safe=True)


async def test_unknown_call(talos: Talos) -> None:
    """A call that this Talos does not have says so."""
    with pytest.raises(UnsupportedError, match="not implemented"):
        await talos.services.hostname()


async def test_first_endpoint_that_answers(node: FakeNode, authority: Authority) -> None:
    """A dead endpoint is passed over; when all fail, a refusal is reported rather than silence."""
    node.on("Version", VERSION)
    endpoints = ["127.0.0.1:1", f"127.0.0.1:{node.port}"]
    async with await Talos.connect_any(endpoints, authority.credentials()) as talos:
        assert (await talos.version()).tag == "v1.13.9"
    with pytest.raises(WrongCaError):
        await Talos.connect_any(endpoints[::-1], type(authority)().credentials())


async def test_silent_endpoint(node: FakeNode, authority: Authority) -> None:
    """An endpoint that accepts and then says nothing does not hold up the others."""
    node.on("Version", VERSION)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoints = [f"127.0.0.1:{port}" for port in (silent.getsockname()[1], node.port)]
        async with await Talos.connect_any(endpoints, authority.credentials()) as talos:
            assert talos.link.where == endpoints[1]
            assert (await talos.version()).tag == "v1.13.9"


async def test_no_endpoint(authority: Authority) -> None:
    """Without endpoints there is an error that says where they belong."""
    with pytest.raises(TalopsError, match="no endpoint"):
        await Talos.connect_any([], authority.credentials())


async def test_unusable_key(authority: Authority) -> None:
    """A key that does not belong to the certificate is reported without showing either."""
    pair = authority.client()
    mixed = type(pair)(pair.certificate, authority.client().key)
    with pytest.raises(TalosconfigError, match="do not match") as caught:
        Talos.connect("127.0.0.1", authority.credentials(mixed))
    assert "BEGIN" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("10.0.0.1", ("10.0.0.1", 50000)),
        ("10.0.0.1:50001", ("10.0.0.1", 50001)),
        ("node.example:6", ("node.example", 6)),
        ("fd00::1", ("fd00::1", 50000)),
        ("[fd00::1]", ("fd00::1", 50000)),
        ("[fd00::1]:7", ("fd00::1", 7)),
    ],
)
def test_addresses(address: str, expected: tuple[str, int]) -> None:
    """Endpoints are written as users write them."""
    assert split_address(address) == expected
