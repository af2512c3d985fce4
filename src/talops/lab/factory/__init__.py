"""An Image Factory: schematics, versions, extensions, and small files instead of images."""

from __future__ import annotations
