"""SOPS and age: no sensitive value in plain text on a disk or in Git."""

from __future__ import annotations
