"""Open the layers for a command: progress of installations, then the view of the engine."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from talops.app.infra.layers import OpenLayers, open_layers
from talops.cli.options import Format

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def opened(
    directory: Path | None,
    wanted: list[str] | None,
    output: Format,
    program: str | None = None,
    *,
    offline: bool = False,
) -> Iterator[OpenLayers]:
    """The chosen layers with all they need; shows progress inside the context."""
    from talops.cli.infra.view import open_view
    from talops.cli.tools.progress import progress

    root = (directory or Path.cwd()).absolute()
    with progress() as emit:
        opening = open_layers(root, dict(os.environ), emit, wanted, program, offline=offline)
        found = asyncio.run(opening)
    with open_view(json=output is Format.JSON, out=sys.stdout, err=sys.stderr) as view:
        yield replace(found, emit=view)
