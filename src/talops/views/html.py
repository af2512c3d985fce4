"""HTML from templates in which every foreign text is escaped, made visible and shortened."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, pass_context
from markupsafe import Markup

from talops.plural import count
from talops.views.words import ago
from talops.visible import visible

if TYPE_CHECKING:
    from jinja2.runtime import Context

# A longer text is not read on a page; its source is in the files of the run or in the API.
LONGEST = 2000
HERE = Path(__file__).parent
MARKS = {"good": "✓", "notice": "!", "bad": "✗", "unknown": "?", "busy": "…", "soft": "·"}


def shown(value: Any) -> Any:
    """Of each value that a template prints: markup of our own stays as it is."""
    if isinstance(value, str) and not isinstance(value, Markup):
        text = visible(value)
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return value


@pass_context
def when(context: Context, value: str | datetime | None) -> Markup | str:
    """A relative time, with the absolute one in its title; in a frozen page, `now` is None."""
    if value is None or value == "":
        return "never"
    at = (datetime.fromisoformat(value) if isinstance(value, str) else value).astimezone(UTC)
    full = at.strftime("%Y-%m-%d %H:%M:%S UTC")
    text = full if context["now"] is None else relative(at, context["now"])
    return Markup('<time datetime="{}" title="{}">{}</time>').format(at.isoformat(), full, text)


def relative(at: datetime, now: datetime) -> str:
    """5 minutes ago, in 12 days."""
    left = int((at - now).total_seconds())
    if left <= 0:
        return ago(at, now)
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if left >= size:
            return f"in {count(left // size, word)}"
    return "in less than a minute"


def clip(value: str, length: int) -> str:
    """For places of a fixed width, such as a drawing."""
    text = visible(str(value)).replace("\n", " ").replace("\t", " ")
    return text if len(text) <= length else f"{text[: length - 1]}…"


@cache
def environment(*packages: str) -> Environment:
    """`packages` have templates of their own, beside those of the views."""
    found = Environment(
        loader=ChoiceLoader([PackageLoader(name, ".") for name in (*packages, "talops.views")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=shown,
    )
    found.filters |= {"when": when, "clip": clip}
    found.globals["MARKS"] = MARKS
    return found


@cache
def style(name: str) -> str:
    return (HERE / f"{name}.css").read_text(encoding="utf-8")
