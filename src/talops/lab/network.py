"""Each lab has its own loopback network 127.N.0.0/16, so that many can run in parallel."""

from __future__ import annotations

import errno
import hashlib
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import ConflictError, TalopsError

if TYPE_CHECKING:
    from pathlib import Path

CONTROL_PORT = 8005
FIRST, COUNT = 16, 224  # 127.0.x is shared by all programs, low numbers are often typed by hand


@dataclass(frozen=True)
class Network:
    """127.N.0.x: the lab's own services; 127.N.1.x: Proxmox nodes; the rest is for machines."""

    number: int

    def address(self, third: int, fourth: int) -> str:
        return f"127.{self.number}.{third}.{fourth}"

    @property
    def cidr(self) -> str:
        return f"127.{self.number}.0.0/16"

    @property
    def control(self) -> str:
        return self.address(0, 1)


def claim(directory: Path, recorded: int | None) -> tuple[Network, socket.socket]:
    """A free network and its control socket: holding the socket reserves the network.

    A lab that has run before keeps its number, because its state names addresses.
    """
    start = int.from_bytes(hashlib.sha256(str(directory).encode()).digest()[:4], "big")
    numbers = [recorded] if recorded else [FIRST + (start + n) % COUNT for n in range(COUNT)]
    for number in numbers:
        network = Network(number)
        listener = _bind(network.control)
        if listener:
            return network, listener
    if recorded:
        raise ConflictError(
            f"the lab's network 127.{recorded}.0.0/16 is in use by another lab",
            where=str(directory),
            hint="stop the other lab (`talops lab stop --dir …`), or start in a new directory",
        )
    raise TalopsError("no free loopback network for a lab", hint="stop labs that are not needed")


def _bind(address: str) -> socket.socket | None:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, CONTROL_PORT))
        listener.listen()
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise TalopsError(
            f"cannot listen on {address}:{CONTROL_PORT}: {error.strerror}",
            hint="a lab needs the whole loopback network 127.0.0.0/8, as Linux has it",
        ) from error
    return listener
