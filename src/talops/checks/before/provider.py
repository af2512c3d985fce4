"""The configured source has the provider: an offline mirror without it is found before `init`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import ToolError
from talops.pipeline.checks import failed, passed, skipped
from talops.toolchain.catalog import PROVIDER
from talops.toolchain.install import Toolchain
from talops.toolchain.mirror import NAMESPACE
from talops.toolchain.provider import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.pipeline.checks import Finding


async def look(environment: Mapping[str, str]) -> list[Finding]:
    given = environment.get(SETTINGS)
    if given:
        return [_settings(given)]
    return [await _provider(environment)]


def _settings(given: str) -> Finding:
    """With this variable OpenTofu reads its sources from this file alone."""
    if Path(given).is_file():
        return passed(f"{SETTINGS} is readable", given)
    hint = f'correct or unset {SETTINGS}; for the lab: eval "$(talops lab env)"'
    return failed(f"{SETTINGS} is not a file", given, hint)


async def _provider(environment: Mapping[str, str]) -> Finding:
    try:
        found = await Toolchain(environment).find(PROVIDER)
    except ToolError as error:
        return failed(error.what, error.where, error.hint)
    if found:
        return passed(f"{NAMESPACE} {found.version}", str(found.path))
    return skipped(
        "no mirror is configured: the provider is downloaded from its registry, or built"
    )
