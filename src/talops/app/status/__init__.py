"""The state of a cluster on one screen: what was read, and what follows from it."""

from __future__ import annotations
