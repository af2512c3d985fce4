"""Commands that need an extra of the package say so when it is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Sequence

EXTRAS = {
    "state": ("asyncpg", "httptools", "obstore", "starlette", "uvicorn", "uvloop"),
    "lab": ("aiohttp",),
    "web": ("starlette", "uvicorn"),
}


def missing_extra(error: ModuleNotFoundError, commands: Sequence[str] = ()) -> ToolError | None:
    """None if the module belongs to no extra: then it is a bug.

    `commands`: those that were typed; an extra of the same name is preferred.
    """
    module = (error.name or "").partition(".")[0]
    found = [name for name, modules in EXTRAS.items() if module in modules]
    extra = next((name for name in found if name in commands), found[0] if found else None)
    if extra is None:
        return None
    return ToolError(
        f"this needs the package {module}, which is not installed",
        hint=f"pip install 'talops[{extra}]'",
    )
