"""The S3 store: one head object per state, immutable objects for the bodies."""

from __future__ import annotations

from talops.statestore.s3.store import S3Store

__all__ = ["S3Store"]
