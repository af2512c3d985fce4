"""Run OpenTofu or Terraform: read its stream, judge its plans, apply them in a safe order."""

from __future__ import annotations
