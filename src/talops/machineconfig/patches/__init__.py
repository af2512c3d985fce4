"""User patches: read, validated, and merged with the rules of Talos."""

from __future__ import annotations
