"""The shared address of control planes, alone."""

from __future__ import annotations

import asyncio

from tests.lab.talos.harness import claim_network

from talops.lab.talos.cluster.vip import SharedAddress


async def test_two_that_settle_it_at_once_agree() -> None:
    """A node that comes up and the lab's clock: one of them moves it, the other finds it done."""
    network, claim = claim_network()
    shared = SharedAddress(f"{network}.250")
    try:
        able = [f"{network}.1"]
        await asyncio.gather(*(shared.settle(able) for _ in range(4)))
        assert shared.holder == able[0]
        await asyncio.gather(*(shared.settle([f"{network}.2"]) for _ in range(4)))
        assert shared.holder == f"{network}.2"
    finally:
        await shared.close()
        claim.close()


async def test_a_move_that_is_cut_off_leaves_no_listener() -> None:
    """A node loses its power while it takes the address: another one can take all of it."""
    network, claim = claim_network()
    shared = SharedAddress(f"{network}.250")
    try:
        for turns in range(12):
            cut = asyncio.create_task(shared.settle([f"{network}.1"]))
            for _ in range(turns):
                await asyncio.sleep(0)
            cut.cancel()
            await asyncio.gather(cut, return_exceptions=True)
            await shared.settle([f"{network}.2"])
            for port in (6443, 50000):
                _, writer = await asyncio.open_connection(shared.address, port)
                writer.close()
    finally:
        await shared.close()
        claim.close()
