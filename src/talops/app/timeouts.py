"""Wait limits of one run: those of cluster.yaml, and what the user typed instead."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError

from talops.errors import TalopsError
from talops.inventory.operating import Timeouts, duration
from talops.site.site import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.site.site import Site


def with_timeouts(site: Site, given: Sequence[str]) -> Site:
    """The same site with other limits; `given` are texts like boot=10m."""
    if not given:
        return site
    values = site.cluster.timeouts.model_dump()
    for text in given:
        name, _, value = text.partition("=")
        if name not in values:
            raise TalopsError(
                f"{text!r} does not name a timeout",
                where="--timeout",
                hint=f"write NAME=TIME, like boot=10m; names: {', '.join(values)}",
            )
        values[name] = _checked(name, value)
    timeouts = Timeouts.model_validate(values)
    cluster = replace(site.cluster, timeouts=timeouts)
    return replace(site, cluster=cluster, limits=Limits.of(timeouts))


def _checked(name: str, value: str) -> int:
    try:
        return duration(value)
    except PydanticCustomError as error:
        said = error.context or {}
        raise TalopsError(said["what"], where=f"--timeout {name}", hint=said["hint"]) from None
