"""Wait limits from cluster.yaml and from the command line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from talops.app.rolling import roll_options
from talops.app.timeouts import with_timeouts
from talops.errors import TalopsError
from talops.inventory.operating import Timeouts
from talops.site.site import Limits, Site

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Example


@pytest.fixture
def site(example: Example, tmp_path: Path) -> Site:
    nothing: Any = None
    timeouts = Timeouts.model_validate({"boot": "20m", "drain": 45})
    cluster = replace(example("dev"), timeouts=timeouts)
    limits = Limits.of(timeouts)
    return Site(cluster, tmp_path, {}, {}, nothing, tmp_path, tmp_path, limits)


def test_limits(site: Site) -> None:
    """The command line wins over cluster.yaml, which wins over the defaults."""
    assert site.limits == Limits(boot=1200)
    typed = with_timeouts(site, ["boot=1h", "etcd=90"])
    assert typed.limits == Limits(boot=3600, etcd=90)
    assert with_timeouts(site, []) is site


def test_drains(site: Site) -> None:
    """`--drain-timeout` is the same as --timeout drain=…, and wins."""
    typed = with_timeouts(site, ["drain=2m"])
    assert roll_options(site.cluster, "", None, ()).drain_timeout == 45
    assert roll_options(typed.cluster, "", None, ()).drain_timeout == 120
    assert roll_options(typed.cluster, "", 5.0, ()).drain_timeout == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [("soon", "does not name a timeout"), ("boot=soon", "not a duration"), ("x=1", "boot=10m")],
)
def test_typing_errors(site: Site, text: str, message: str) -> None:
    """With what to type instead."""
    with pytest.raises(TalopsError) as wrong:
        with_timeouts(site, [text])
    assert message in f"{wrong.value.what} {wrong.value.hint}"
