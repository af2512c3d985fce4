"""What a node gives to the pods on it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.errors import NotReadyError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from talops.lab.kubernetes.api import KubeApi

_PAUSE = 0.2


@dataclass(frozen=True)
class PodHost:
    """`api` is None while this node reaches no API server; `log` is the kubelet's log."""

    name: str
    address: str
    api: Callable[[], KubeApi | None]
    start: float
    stop: float
    log: Callable[[str], None]

    async def call(self, work: Callable[[KubeApi], Awaitable[Any]]) -> Any:
        """As soon as an API server answers, as a kubelet does; refusals are errors."""
        while True:
            api = self.api()
            if api is not None:
                try:
                    return await work(api)
                except (UnreachableError, NotReadyError) as error:
                    self.log(str(error))
            await asyncio.sleep(_PAUSE)
