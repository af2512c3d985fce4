"""Wait until objects are ready or deleted, with the last reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.kube.conditions import ready
from talops.kube.discovery import UnknownKindError
from talops.kube.objects import Object, Ref
from talops.waiting import NotYet, Ready, Waiting, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talops.kube.client import KubeClient
    from talops.kube.conditions import Judge


def _silent(_: Waiting) -> None:
    pass


async def wait_ready(
    client: KubeClient,
    ref: Ref,
    *,
    timeout: float,  # noqa: ASYNC109  (as in wait_for: the error carries the last reason)
    judge: Judge = ready,
    interval: float = 0.5,
    report: Callable[[Waiting], None] = _silent,
) -> Object:
    async def probe() -> Ready[Object] | NotYet:
        return judge(await client.get(ref))

    return await wait_for(
        str(ref), probe, timeout=timeout, interval=interval, report=report, hint=_look(ref)
    )


async def wait_gone(
    client: KubeClient,
    ref: Ref,
    *,
    timeout: float,  # noqa: ASYNC109  (as above)
    uid: str | None = None,
    interval: float = 0.5,
    report: Callable[[Waiting], None] = _silent,
) -> None:
    """Wait until the object is deleted; with `uid`, a new one with that name counts as deleted."""

    async def probe() -> Ready[None] | NotYet:
        obj = await client.get(ref)
        if obj is None or (uid and obj["metadata"].get("uid") != uid):
            return Ready(None)
        holders = obj["metadata"].get("finalizers")
        return NotYet(f"finalizers: {', '.join(holders)}" if holders else "still exists")

    name = f"deletion of {ref}"
    await wait_for(name, probe, timeout=timeout, interval=interval, report=report, hint=_look(ref))


async def apply_all(
    client: KubeClient,
    objects: Sequence[Object],
    *,
    timeout: float,  # noqa: ASYNC109  (as above)
    report: Callable[[Waiting], None] = _silent,
) -> list[Object]:
    """Apply in order; wait for namespaces and definitions before their objects."""
    applied: list[Object] = []
    for obj in objects:
        applied.append(await _apply_known(client, obj, timeout, report))
        if obj["kind"] in {"Namespace", "CustomResourceDefinition"}:
            await wait_ready(client, Ref.of(obj), timeout=timeout, report=report)
    return applied


async def _apply_known(
    client: KubeClient, obj: Object, seconds: float, report: Callable[[Waiting], None]
) -> Object:
    """A definition may be established shortly before the server offers its kind."""

    async def probe() -> Ready[Object] | NotYet:
        try:
            return Ready(await client.apply(obj))
        except UnknownKindError as error:
            return NotYet(error.what)

    return await wait_for(f"{Ref.of(obj)} to be accepted", probe, timeout=seconds, report=report)


def _look(ref: Ref) -> str:
    place = f" -n {ref.namespace}" if ref.namespace else ""
    return f"kubectl describe {ref.kind.lower()} {ref.name}{place}"
