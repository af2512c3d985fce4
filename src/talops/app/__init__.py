"""Use cases on an open site: drift, failure analysis and the support bundle."""

from __future__ import annotations
