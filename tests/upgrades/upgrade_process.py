"""What `up` does to versions, in a process of its own, which tests kill: `python -m … ROOT`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from tests.upgrades.conftest import PATIENT, stages_of

from talops.events import Event, PartProgress
from talops.inventory.load import load
from talops.pipeline.runner import run_stages
from talops.site.site import Site


def tell(event: Event) -> None:
    """Each beginning and end of a step; nothing happens until the parent has read it."""
    if isinstance(event, PartProgress):
        sys.stdout.write(f"{event.doing} {event.part} {event.phase}\n")
        sys.stdout.flush()
        sys.stdin.readline()


async def upgrade(root: Path) -> None:
    nothing: Any = None
    site = Site(load(root).require(), root, {}, {}, nothing, root, root / "kubeconfig", PATIENT)
    result = await run_stages(stages_of(site, tell), emit=tell)
    if result.error:
        raise result.error


if __name__ == "__main__":
    asyncio.run(upgrade(Path(sys.argv[1])))
