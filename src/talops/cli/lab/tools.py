"""The real programs behind a lab: found, fetched or built, with progress."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from talops.lab.tools import LabTools


async def lab_tools() -> LabTools:
    """The provider now, so that `infra init` finds it; etcd and kube-apiserver when a node needs
    them.
    """
    from talops.cli.tools.progress import progress
    from talops.lab.tools import LabTools, Provider
    from talops.toolchain.catalog import PROVIDER
    from talops.toolchain.install import Toolchain
    from talops.toolchain.mirror import settings_text

    async def ensure(name: str) -> Path:
        with progress() as emit:
            return (await Toolchain(os.environ, emit=emit).ensure(name)).path

    with progress() as emit:
        found = await Toolchain(os.environ, emit=emit).ensure(PROVIDER)
    settings = settings_text(found.path, only=True)
    return LabTools(ensure, Provider(found.version, settings, str(found.path)))
