"""User patches: read, checked, and merged by Talos' own rules."""

from __future__ import annotations
