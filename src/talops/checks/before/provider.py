"""The provider can be had from where the environment says: an offline mirror that does not hold it
is found before the first `init`.
"""

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
    """OpenTofu then goes by this file alone."""
    if Path(given).is_file():
        return passed(f"{SETTINGS} can be read", given)
    hint = f'correct or unset {SETTINGS}; for the lab: eval "$(talops lab env)"'
    return failed(f"{SETTINGS} is not a file", given, hint)


async def _provider(environment: Mapping[str, str]) -> Finding:
    try:
        found = await Toolchain(environment).find(PROVIDER)
    except ToolError as error:
        return failed(error.what, error.where, error.hint)
    if found:
        return passed(f"{NAMESPACE} {found.version}", str(found.path))
    return skipped("no mirror is set: the provider comes from its registry, or is built")
