"""One run as a self-contained HTML page: the view of a run, frozen, without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from talops.pipeline.history import read_events
from talops.views.html import environment, style
from talops.views.runview import run_view

if TYPE_CHECKING:
    from talops.pipeline.history import PastRun


def report_html(run: PastRun) -> str:
    """The record was masked when it was written; the page contains nothing else."""
    view = run_view(run, list(read_events(run)))
    # Our own file; a style sheet has no markup to escape.
    css = Markup(style("base") + style("run"))  # noqa: S704
    return environment().get_template("report.html.j2").render(run=view, css=css, now=None)
