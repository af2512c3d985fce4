"""A kubelet whose Node is rejected goes on trying, and says why where people look."""

from __future__ import annotations

import asyncio
import contextlib
from types import SimpleNamespace
from typing import Any

from tests.lab.talos.harness import until

from talops.errors import ConflictError
from talops.lab.talos.cluster.registration import Registration
from talops.lab.talos.machine.settings import Timing

REFUSED = 'Node "w-1" is invalid: metadata.labels: Invalid value: "a b"'


class Api:
    """An API server that rejects every change until it is told otherwise."""

    def __init__(self) -> None:
        self.rejects = True

    async def get(self, _: str) -> dict[str, Any] | None:
        return None

    async def apply(self, *_: Any, **__: Any) -> dict[str, Any]:
        if self.rejects:
            raise ConflictError(REFUSED)
        return {"metadata": {}}


def worker(api: Api, said: list[str]) -> Any:
    config = SimpleNamespace(
        cluster_id="c",
        control_plane=False,
        names_whole_node=False,
        schedulable=True,
        kubelet_version="v1.36.1",
        labels={},
        annotations={},
        taints=(),
        trusted_kubernetes_cas=(),
    )
    return SimpleNamespace(
        config=config,
        hostname="w-1",
        addresses=("10.0.0.21",),
        version="v1.14.1",
        machine=SimpleNamespace(uuid="u", cores=2, memory=2**31),
        apid=SimpleNamespace(cut_off=False),
        faults=SimpleNamespace(never_ready=False),
        journal=SimpleNamespace(log=lambda _, text: said.append(text)),
        settings=SimpleNamespace(timing=Timing(scale=0.0), workloads=False),
        control_plane=SimpleNamespace(serving=SimpleNamespace(pods=dict), has_pods=False),
        boot_id="b",
        store=SimpleNamespace(save_joined=lambda: None),
        fabric=SimpleNamespace(
            api_servers=lambda _: ["10.0.0.11"],
            kube_api=lambda _: api,
            control_planes=lambda _: [],
        ),
    )


async def test_a_rejected_node_is_shown() -> None:
    """`talops lab status` has the reason for as long as it lasts; the log has it once."""
    api, said = Api(), list[str]()
    registration = Registration(worker(api, said))
    running = asyncio.create_task(registration.run(0.0))

    async def troubled() -> bool:
        return bool(registration.trouble)

    async def registered() -> bool:
        return registration.ready and not registration.trouble

    await until(troubled)
    assert REFUSED in registration.trouble
    api.rejects = False
    await until(registered)
    assert said == [f"cannot register: {REFUSED}"]
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
