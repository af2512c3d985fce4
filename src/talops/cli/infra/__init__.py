"""`talops infra`."""

from __future__ import annotations
