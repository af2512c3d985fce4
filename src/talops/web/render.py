"""Pages from documents, and the files that they load: our own and vendored ones."""

from __future__ import annotations

import hashlib
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talops import __version__
from talops.views.backups import size_text
from talops.views.html import environment, style

if TYPE_CHECKING:
    from datetime import datetime

STATIC = Path(__file__).parent / "static"
TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
OTHERS = ("htmx.min.js", "sse.min.js", "page.js", "icon.svg")


@cache
def vendored() -> dict[str, dict[str, str]]:
    """Package of npm → its version, file and digest."""
    return tomllib.loads((STATIC / "vendored.toml").read_text(encoding="utf-8"))


@cache
def files() -> dict[str, bytes]:
    """All that a page loads, by name. Names have a digest: browsers keep these files."""
    css = (style("base") + style("run") + (STATIC / "page.css").read_text("utf-8")).encode()
    found = {"page.css": css, **{name: (STATIC / name).read_bytes() for name in OTHERS}}
    return {_named(name, content): content for name, content in found.items()}


@cache
def addresses() -> dict[str, str]:
    """`page.css` → the name under which it is served now."""
    return {_plain(name): f"/static/{name}" for name in files()}


def _named(name: str, content: bytes) -> str:
    stem, _, ending = name.rpartition(".")
    return f"{stem}.{hashlib.sha256(content).hexdigest()[:12]}.{ending}"


def _plain(name: str) -> str:
    stem, _, ending = name.rpartition(".")
    return f"{stem.rpartition('.')[0]}.{ending}"


def render(template: str, now: datetime, **values: Any) -> str:
    found = environment("talops.web.templates")
    found.filters["size"] = size_text
    return found.get_template(template).render(
        now=now, files=addresses(), talops=__version__, **values
    )
