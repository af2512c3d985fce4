"""One upgrade in a process of its own, which tests kill: `python -m … ROOT VERSION`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from tests.upgrades.conftest import PATIENT

from talops.events import Event, PartProgress
from talops.inventory.load import load
from talops.pipeline.stage import Reporter
from talops.rolls.rolling import Rolling
from talops.site.site import Site
from talops.upgrades.kubernetes.hop import Kubernetes


def tell(event: Event) -> None:
    """Each beginning and end of a step; nothing happens until the parent has read it."""
    if isinstance(event, PartProgress):
        sys.stdout.write(f"{event.doing} {event.part} {event.phase}\n")
        sys.stdout.flush()
        sys.stdin.readline()


def main(root: Path, version: str) -> None:
    nothing: Any = None
    site = Site(load(root).require(), root, {}, {}, nothing, root, root / "kubeconfig", PATIENT)
    asyncio.run(Kubernetes(site, Rolling(site), Reporter("upgrade", tell)).run(version))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
