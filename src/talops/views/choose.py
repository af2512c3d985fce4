"""Choose the view of a run: JSON if requested, live on a terminal, plain lines otherwise."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Protocol, TextIO

from talops.views.lines import JsonLines, PlainLines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.events import Event


class View(Protocol):
    def __call__(self, event: Event) -> None: ...

    def paused(self) -> contextlib.AbstractContextManager[None]:
        """While inside, the view leaves the terminal free, for example for a prompt."""
        ...


@contextlib.contextmanager
def open_view(*, json: bool, out: TextIO, err: TextIO) -> Iterator[View]:
    """JSON lines go to `out` (they are the result), progress for people to `err`."""
    if json:
        yield JsonLines(out)
    elif not err.isatty():
        yield PlainLines(err)
    else:
        from talops.views.live import LiveView
        from talops.views.plain_console import PlainConsole

        with LiveView(PlainConsole(file=err, highlight=False, markup=False, emoji=False)) as view:
            yield view
