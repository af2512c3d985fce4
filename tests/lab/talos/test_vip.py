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
