"""Migrate states between backends: copy, read back, compare, then retire the old ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import ConflictError, TalopsError
from talops.statestore.backends.interface import held_error, md5_of
from talops.statestore.documents import header_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talops.statestore.backends.interface import StateBackend


@dataclass(frozen=True, slots=True)
class Moved:
    state: str
    serial: int
    md5: str
    left: str


async def migrate(
    source: StateBackend,
    target: StateBackend,
    states: Sequence[str] = (),
    *,
    force: bool = False,
    report: Callable[[str], None] = lambda _: None,
) -> list[Moved]:
    """Copy and verify all states before any old one is retired."""
    names = await _names(source, states)
    copied: list[tuple[str, bytes]] = []
    for name in names:
        data = await source.read(name)
        if data is None:
            raise TalopsError(f"{name} disappeared while it was copied", where=source.place)
        await _copy(target, name, data, force=force)
        report(f"{name}: copied to {target.place}, MD5 {md5_of(data)} verified")
        copied.append((name, data))
    for name, data in copied:
        if await source.read(name) != data:
            raise ConflictError(
                f"{name} changed while it was copied",
                where=source.place,
                hint="wait until no apply is running, then run the same command again",
            )
    return [
        Moved(name, header_of(data).serial, md5_of(data), await source.retire(name))
        for name, data in copied
    ]


async def _names(source: StateBackend, wanted: Sequence[str]) -> list[str]:
    listed = {info.name: info for info in await source.overview() if not info.was_moved}
    if unknown := [name for name in wanted if name not in listed]:
        raise TalopsError(f"state {unknown[0]} does not exist", where=source.place)
    chosen = [info for name, info in listed.items() if not wanted or name in wanted]
    for info in chosen:
        if info.lock:
            raise held_error(info.name, info.lock)
        if info.problem:
            raise TalopsError(
                f"{info.name}: {info.problem}",
                where=source.place,
                hint=f"talops state restore {info.name}",
            )
    return [info.name for info in chosen if info.exists]


async def _copy(target: StateBackend, name: str, data: bytes, *, force: bool) -> None:
    present = await target.read(name)
    if present != data:
        await target.write(name, data, force=force)
    stored = await target.read(name)
    if stored is None or md5_of(stored) != md5_of(data):
        raise TalopsError(
            f"{name} differs after the copy",
            where=target.place,
            hint="the old state is unchanged; check the new backend before you retry",
        )
