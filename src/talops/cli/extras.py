"""Commands that need an extra of the package say so when it is not installed."""

from __future__ import annotations

from talops.errors import ToolError

EXTRAS = {
    "state": ("asyncpg", "httptools", "obstore", "starlette", "uvicorn", "uvloop"),
    "lab": ("aiohttp",),
}


def missing_extra(error: ModuleNotFoundError) -> ToolError | None:
    """None if the module belongs to no extra: then it is a bug."""
    module = (error.name or "").partition(".")[0]
    extra = next((name for name, modules in EXTRAS.items() if module in modules), None)
    if extra is None:
        return None
    return ToolError(
        f"this needs the package {module}, which is not installed",
        hint=f"pip install 'talops[{extra}]'",
    )
