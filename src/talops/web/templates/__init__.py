"""Templates of the page; those of a run are in `talops.views`."""

from __future__ import annotations
