"""The stages that give a cluster an age identity of its own, or a new one."""

from __future__ import annotations
