"""The secrets of a cluster, its PKI, and the credentials made from them."""

from __future__ import annotations
