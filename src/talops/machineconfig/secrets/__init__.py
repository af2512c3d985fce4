"""The secrets of a cluster, its PKI, and the credentials generated from them."""

from __future__ import annotations
