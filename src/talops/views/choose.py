"""Which view a run gets: JSON if asked for, live on a terminal, plain lines otherwise."""

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
        """The terminal belongs to somebody else, such as a question, while inside."""
        ...


@contextlib.contextmanager
def open_view(*, json: bool, out: TextIO, err: TextIO) -> Iterator[View]:
    """JSON lines go to `out` (they are the result), progress for people to `err`."""
    if json:
        yield JsonLines(out)
    elif not err.isatty():
        yield PlainLines(err)
    else:
        from rich.console import Console

        from talops.views.live import LiveView

        with LiveView(Console(file=err, highlight=False)) as view:
            yield view
