"""Where OpenTofu finds its provider for this lab without a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.files import write_atomic

if TYPE_CHECKING:
    from talops.lab.context import LabContext
    from talops.lab.tools import Provider

FILE = "tofu.tfrc"


class ProviderService:
    name = "provider"

    def __init__(self, context: LabContext, provider: Provider) -> None:
        self._file = context.layout.root / FILE
        self._provider = provider

    async def start(self) -> None:
        write_atomic(self._file, self._provider.settings)

    async def stop(self) -> None:
        """Nothing runs: OpenTofu starts its provider itself."""

    def endpoints(self) -> dict[str, Any]:
        return {
            "cli_config": str(self._file),
            "version": self._provider.version,
            "origin": self._provider.origin,
        }
