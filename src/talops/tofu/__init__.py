"""OpenTofu and Terraform: find, run, read, judge."""

from __future__ import annotations
