"""The HTTP side: routes, security, streams and the server itself."""

from __future__ import annotations
