"""Writes a sample to a directory and imports it, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.importing.proposal import propose
from talops.importing.reading import read_source
from talops.importing.sources.files import Source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from talops.importing.model import FoundCluster
    from talops.importing.proposal import Proposal


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def found_in(tool: str, folder: Path, addresses: Mapping[str, str] | None = None) -> FoundCluster:
    return read_source(tool, Source(folder), addresses or {})


def proposed(tool: str, folder: Path) -> Proposal:
    return propose(found_in(tool, folder))
