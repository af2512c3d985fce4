"""The door of a node whose network and whose power go at the same moment."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from talops.lab.talos.apid import Apid
from talops.lab.talos.node_port import PORT

ADDRESS = "127.91.17.1"


def taken() -> bool:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind((ADDRESS, PORT))
            other.listen()
        except OSError:
            return True
    return False


@pytest.mark.parametrize("turns", range(1, 7))
async def test_what_is_switched_off_listens_no_more(turns: int) -> None:
    """Cut off and closed in any order, nothing answers at the address of a dead machine."""
    node: Any = SimpleNamespace(addresses=(ADDRESS,))
    apid = Apid(node)
    losing = asyncio.ensure_future(apid.lose_network())
    for _ in range(turns):
        await asyncio.sleep(0)
    await apid.close()
    await losing
    assert not taken()


async def test_calls_hang_until_the_network_is_back() -> None:
    """Accepted by the kernel, never answered, and closed in the end."""
    node: Any = SimpleNamespace(addresses=(ADDRESS,))
    apid = Apid(node)
    await apid.lose_network()
    assert taken()
    reader, writer = await asyncio.open_connection(ADDRESS, PORT)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reader.read(1), 0.1)
    await apid.close()
    assert await reader.read(1) == b""
    writer.close()
    await writer.wait_closed()
    assert not taken()
