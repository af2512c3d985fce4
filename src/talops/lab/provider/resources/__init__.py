"""One file per resource type, or per family of types that differ in a few parameters."""

from __future__ import annotations
