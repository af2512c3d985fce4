"""Open the layers for a command: progress of installations, then the view of the engine."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from talops.app.infra.layers import OpenLayers, open_layers
from talops.cli.options import Format
from talops.cli.output import note

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator


T = TypeVar("T")


def exclusively(
    run: OpenLayers,
    command: str,
    work: Callable[[OpenLayers], Coroutine[object, object, T]],
    *,
    shared: bool = True,
) -> T:
    """Under the locks of a run. Ctrl-C and SIGTERM interrupt OpenTofu and wait for it."""
    from talops.app.infra.exclusive import exclusive
    from talops.pipeline.interrupt import Interruption

    async def hold() -> T:
        interruption = Interruption(note)
        with interruption.on_signals():
            async with exclusive(run, command, note, shared=shared):
                return await interruption.step(work(run), atomic=False)

    return asyncio.run(hold())


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
