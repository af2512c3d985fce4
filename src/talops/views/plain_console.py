"""The console of all views: only rich itself controls the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.segment import Segment

from talops.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable


class PlainConsole(Console):
    """Shows control characters in texts; movements of a live display have segments of their own."""

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        return super()._render_buffer(
            segment if segment.control else Segment(visible(segment.text), segment.style)
            for segment in buffer
        )
