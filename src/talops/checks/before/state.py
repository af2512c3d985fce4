"""The states are readable and not locked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.pipeline.checks import failed, passed, warning
from talops.statestore.backends.interface import held_error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from talops.pipeline.checks import Finding
    from talops.statestore.backends.interface import StateBackend, StateInfo


async def look(
    open_backend: Callable[[], StateBackend],
    *,
    strict: bool,
    leave_out: Collection[str] = (),
) -> list[Finding]:
    backend = open_backend()
    try:
        seen = [info for info in await backend.overview() if not info.was_moved]
        states = [info for info in seen if info.name not in leave_out]
        return judge(states, backend.place, strict=strict)
    finally:
        await backend.close()


def judge(states: Sequence[StateInfo], place: str, *, strict: bool) -> list[Finding]:
    """`strict`: a lock fails the check. A run that continues an interrupted one finds its own."""
    found: list[Finding] = []
    for state in states:
        if state.problem:
            hint = f"talops state versions {state.name}, then talops state rollback"
            found.append(failed(f"{state.name} is damaged: {state.problem}", place, hint))
        if state.lock:
            held = held_error(state.name, state.lock)
            make = failed if strict else warning
            found.append(make(held.what, place, held.hint))
    made = sum(1 for state in states if state.exists)
    return found or [
        passed(f"states are readable and not locked; {made} of {len(states)} exist", place)
    ]
