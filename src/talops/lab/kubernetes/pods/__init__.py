"""Pods whose containers are simulated: everything that the API server sees of them is there."""

from __future__ import annotations
