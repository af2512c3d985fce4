"""Find, download or build the real programs that a lab runs, with progress."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from talops.lab.tools import LabTools


async def lab_tools() -> LabTools:
    """Provide the provider now, for `infra init`; etcd and kube-apiserver on first use."""
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
