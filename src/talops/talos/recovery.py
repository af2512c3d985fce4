"""Restore etcd from a snapshot when no control plane has data any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import ConflictError, TalopsError
from talops.talos.client import each
from talops.talos.errors import PreconditionError
from talops.talos.snapshot import check, pieces_of
from talops.waiting import NotYet, Ready, Waiting, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from talops.talos.client import Talos

DATA = "/var/lib/etcd/member"


def _silent(_: Waiting) -> None:
    pass


async def recover_etcd(
    target: Talos,
    control_planes: Sequence[Talos],
    snapshot: Path,
    *,
    timeout: float,  # noqa: ASYNC109  (wait_for's error carries the last reason)
    from_copy: bool = False,
    report: Callable[[Waiting], None] = _silent,
) -> None:
    """Restore etcd on `target` from a file; the other control planes then join it.

    Every control plane must answer and be without data: a member that still runs would end up in
    another cluster than the restored one. `from_copy` takes a database file copied from a
    node, which has no digest at its end.
    """
    if not from_copy:
        check(snapshot)
    await recover_from(
        target,
        control_planes,
        pieces_of(snapshot),
        timeout=timeout,
        skip_hash_check=from_copy,
        report=report,
    )


async def recover_from(
    target: Talos,
    control_planes: Sequence[Talos],
    pieces: Iterable[bytes],
    *,
    timeout: float,  # noqa: ASYNC109  (as above)
    skip_hash_check: bool = False,
    report: Callable[[Waiting], None] = _silent,
) -> None:
    """The same from pieces of a snapshot that was checked."""
    await require_no_data(control_planes)
    await target.etcd.recover_pieces(pieces)

    async def bootstrap() -> Ready[None] | NotYet:
        try:
            await target.machine.bootstrap(recover_etcd=True, skip_hash_check=skip_hash_check)
        except PreconditionError as error:
            return NotYet(error.what)
        return Ready(None)

    await wait_for(f"{target.where}: bootstrap", bootstrap, timeout=timeout, report=report)


async def require_no_data(control_planes: Sequence[Talos]) -> None:
    for talos, found in await each(control_planes, lambda node: node.files.exists(DATA)):
        if isinstance(found, TalopsError):
            raise found  # not knowing is not the same as knowing that there is nothing
        if found:
            raise ConflictError(
                "this control plane still has etcd data",
                where=talos.where,
                hint="if etcd is lost beyond repair, wipe it first on every control plane: "
                "talops talos reset --label EPHEMERAL --reboot --no-graceful --nodes …",
            )
