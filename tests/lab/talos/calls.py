"""Calls to nodes of the lab that several tests make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from grpclib.exceptions import GRPCError

from talops.talos.wire.machine_pb2 import ApplyConfigurationRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from grpclib.const import Status
    from tests.lab.talos.harness import Lab


async def refusal(call: Awaitable[Any]) -> tuple[Status, str]:
    with pytest.raises(GRPCError) as refused:
        await call
    return refused.value.status, refused.value.message or ""


async def apply(lab: Lab, name: str, config: bytes, **fields: Any) -> Any:
    request = ApplyConfigurationRequest(data=config, **fields)
    reply = await lab.api(name).ApplyConfiguration(request)
    return reply.messages[0]


async def configured(lab: Lab, name: str = "cp-1", **machine: Any) -> None:
    await lab.start(name)
    await lab.configure(name, **machine)
    await lab.up(name)
