"""Lab nodes in the states in which real nodes were recorded, and a way to ask them the same.

The recorded cluster had 10.77.0.0/24; addresses are moved into the lab's network in each request
and back in each response. Its machine configs stand in the recording.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError
from grpclib.client import Channel
from grpclib.const import Cardinality, Status
from grpclib.encoding.base import CodecBase
from grpclib.exceptions import GRPCError
from tests.lab.talos.harness import Lab
from tests.recordings.talos import exchanges

from talops.lab.kubernetes.pki import Authority, KeyPair, Subject, client_context
from talops.lab.machine import Disk, Nic, StaticNetwork
from talops.lab.talos.config.decoding import decode
from talops.lab.talos.machine.stages import Stage
from talops.talos.wire.machine_pb2 import ApplyConfigurationRequest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.recordings.talos import Exchange

    from talops.lab.talos.machine.settings import Tools

NETWORK = "10.77.0"
# Recorded node → last number of its address here; the node in maintenance was the worker, reset.
NUMBERS = {"controlplane": 11, "worker": 14, "maintenance": 15}
OPEN = "still open"  # a stream that the one who recorded it ended
_OPEN = {"TIMEOUT", "StreamTerminatedError"}
_SILENCE = 0.2


class RawCodec(CodecBase):
    """Messages as the bytes they are."""

    __content_subtype__ = "proto"

    def encode(self, message: Any, message_type: Any) -> bytes:
        assert message_type is bytes
        return bytes(message)

    def decode(self, data: bytes, message_type: Any) -> bytes:
        assert message_type is bytes
        return data


@dataclass(frozen=True)
class Answer:
    """Everything that came back."""

    status: str
    message: str
    responses: tuple[bytes, ...]


def recorded_answer(exchange: Exchange) -> Answer:
    status = OPEN if exchange.status in _OPEN else exchange.status
    message = "" if status == OPEN else exchange.message
    return Answer(status, message, exchange.responses)


@cache
def recorded_config(node: str) -> bytes:
    """What the recorded node was running."""
    for exchange in exchanges():
        if exchange.method.endswith("/ApplyConfiguration") and exchange.node == node:
            request = ApplyConfigurationRequest.FromString(exchange.request)
            if exchange.auth == "admin" and exchange.status == "OK":
                return bytes(request.data)
    raise AssertionError(node)


class RecordedWorld:
    """Three control planes and a worker that run the recorded configs, and one in maintenance."""

    def __init__(self, directory: Path, tools: Tools) -> None:
        self.lab = Lab(directory, tools, apiservers="leader-only", discovery=False)
        config = decode(recorded_config("controlplane"), minor=13)
        self._ca: KeyPair = config.os_ca
        self._channels: dict[tuple[str, str], Channel] = {}

    async def start(self) -> None:
        for name, number in (("rt-cp1", 11), ("rt-cp2", 12), ("rt-cp3", 13), ("rt-w1", 14)):
            await self._power_on(name, number)
        await self._power_on("maintenance", NUMBERS["maintenance"])
        for number in (11, 12, 13):
            await self._apply(f"rt-cp{number - 10}", number)
        self.lab.files.os_ca = self._ca
        await self.lab.bootstrap("rt-cp1")
        for name in ("rt-cp1", "rt-cp2", "rt-cp3"):
            await self.lab.stage(name, Stage.RUNNING)
        await self._apply("rt-w1", 14)
        await self.lab.stage("rt-w1", Stage.RUNNING)
        await self.lab.stage("maintenance", Stage.MAINTENANCE)

    async def _power_on(self, name: str, number: int) -> None:
        image = self.lab.directory / "nocloud-v1.13.9.raw"  # nothing was installed there
        image.touch()
        machine = self.lab.machine(
            name,
            disks=(Disk("scsi0", 20 * 2**30, serial=name, image=image),),
            cdrom=None,
            network=StaticNetwork(f"{self.lab.network}.{number}/24"),
            nics=(Nic(f"52:54:00:77:00:{number}", "vmbr0"),),
        )
        self.lab.addresses[name] = f"{self.lab.network}.{number}"
        await self.lab.host.power_on(machine)

    async def _apply(self, name: str, number: int) -> None:
        config = self.moved(recorded_config("worker" if name == "rt-w1" else "controlplane"))
        if name.startswith("rt-cp"):
            config = config.replace(b"rt-cp1", name.encode()).replace(
                f"{self.lab.network}.11".encode(), f"{self.lab.network}.{number}".encode()
            )
            config = config.replace(b"52:54:00:77:00:11", f"52:54:00:77:00:{number}".encode())
        await self.lab.apply(name, config)

    def moved(self, request: bytes) -> bytes:
        return request.replace(NETWORK.encode(), self.lab.network.encode())

    def back(self, text: str) -> str:
        number = f"{self.lab.network}.{NUMBERS['maintenance']}"
        return text.replace(number, f"{NETWORK}.14").replace(self.lab.network, NETWORK)

    def _channel(self, node: str, auth: str) -> Channel:
        if (node, auth) not in self._channels:
            if auth == "none":
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            else:
                subject = Subject(organizations=(f"os:{auth}",), client=True)
                context = client_context(self._ca.crt, Authority(self._ca).issue(subject))
            context.set_alpn_protocols(["h2"])
            address = f"{self.lab.network}.{NUMBERS[node]}"
            self._channels[node, auth] = Channel(address, 50000, ssl=context, codec=RawCodec())
        return self._channels[node, auth]

    async def ask(self, exchange: Exchange) -> Answer:
        """The recorded request, and all that comes back or, of an open stream, has come so far."""
        channel, responses = self._channel(exchange.node, exchange.auth), []
        opened = channel.request(exchange.method, Cardinality.UNARY_STREAM, bytes, bytes)
        request = self._request(exchange)
        try:
            async with opened as stream:
                await stream.send_message(request, end=True)
                while True:
                    waiting = stream.recv_message()
                    if exchange.status in _OPEN:
                        waiting = asyncio.wait_for(waiting, _SILENCE)
                    response = await waiting
                    if response is None:
                        break
                    responses.append(response)
        except TimeoutError:
            return Answer(OPEN, "", tuple(responses))
        except GRPCError as error:
            status = error.status.name
            return Answer(status, self.back(error.message or ""), tuple(responses))
        return Answer(Status.OK.name, "", tuple(responses))

    def _request(self, exchange: Exchange) -> bytes:
        """Configs hold addresses, and a message knows its length."""
        if not exchange.method.endswith("/ApplyConfiguration"):
            return exchange.request
        try:
            request = ApplyConfigurationRequest.FromString(exchange.request)
        except DecodeError:
            return exchange.request
        request.data = self.moved(request.data)
        return request.SerializeToString()

    async def close(self) -> None:
        for channel in self._channels.values():
            channel.close()
        await self.lab.close()
