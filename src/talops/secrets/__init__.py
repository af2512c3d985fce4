"""SOPS and age: nothing sensitive in plain text on a disk or in Git."""

from __future__ import annotations
