"""The resources of a lab node, as the COSI API shows them."""

from __future__ import annotations
