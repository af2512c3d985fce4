"""The lab's provider mirror as a service: a CLI configuration that makes tofu take it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.files import write_atomic
from talops.lab.provider.mirror import choose, cli_config

if TYPE_CHECKING:
    from talops.lab.context import LabContext
    from talops.lab.provider.mirror import Mirror
    from talops.lab.tools import ProviderTools

FILE = "tofu.tfrc"


class MirrorService:
    name = "provider"

    def __init__(self, context: LabContext, tools: ProviderTools) -> None:
        self._file = context.layout.root / FILE
        self._tools = tools
        self._mirror: Mirror | None = None

    async def start(self) -> None:
        tools = self._tools
        self._mirror = await choose(tools.cache, tools.version, given=tools.given, tofu=tools.tofu)
        write_atomic(self._file, cli_config(self._mirror.directory))

    async def stop(self) -> None:
        self._mirror = None

    def endpoints(self) -> dict[str, Any]:
        assert self._mirror
        return {
            "cli_config": str(self._file),
            "real": self._mirror.real,
            "origin": self._mirror.origin,
        }
