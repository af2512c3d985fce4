"""stdout and stderr of a command: text of other systems cannot control the terminal."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, TextIO, cast

from talops.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator


class PlainStream:
    """Shows control characters instead of passing them on; everything else is the stream's.

    Bytes that are written to its `buffer` are the result of a command, and stay as they are.
    """

    def __init__(self, stream: TextIO) -> None:
        # The name by which consoles of rich find the stream that accepts colors and movements.
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        return self.rich_proxied_file.write(visible(text))

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def own(stream: TextIO) -> TextIO:
    """The stream itself, for colors of talops and for secrets that a user asked for."""
    return cast("TextIO", getattr(stream, "rich_proxied_file", stream))


@contextlib.contextmanager
def plain_streams() -> Iterator[None]:
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", PlainStream(own(stream))) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
