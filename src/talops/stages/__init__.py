"""One file per stage of a bring-up; each observes, plans, applies and verifies."""

from __future__ import annotations
