"""The real programs behind a lab: found, fetched or built, with progress."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.lab.tools import LabTools


async def lab_tools() -> LabTools:
    """Tofu now, to look for the real provider; etcd and kube-apiserver when a node needs them."""
    from talops.cli.tools_progress import progress
    from talops.lab.tools import LabTools, ProviderTools
    from talops.render.tree import PROVIDER_VERSION
    from talops.toolchain.install import Toolchain

    async def ensure(name: str) -> Path:
        with progress() as emit:
            return (await Toolchain(os.environ, emit=emit).ensure(name)).path

    given = os.environ.get("TALOPS_PROVIDER_MIRROR")
    cache = Toolchain(os.environ).cache / "providers"
    tofu = await ensure("tofu")
    mirror = Path(given) if given else None
    return LabTools(ensure, ProviderTools(PROVIDER_VERSION, cache, mirror, tofu))
