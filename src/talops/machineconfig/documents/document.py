"""A document next to the main one."""

from __future__ import annotations

from typing import Any


def document(kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1alpha1", "kind": kind} | fields
