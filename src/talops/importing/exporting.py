"""The exporter of each tool, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.importing.exports import talhelper, talosctl, topf

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.importing.exports.model import Exported

    Writer = Callable[[Exported], dict[str, str]]

WRITERS: dict[str, Writer] = {
    "talosctl": talosctl.files,
    "talhelper": talhelper.files,
    "topf": topf.files,
}


def export_files(tool: str, exported: Exported) -> dict[str, str]:
    """Plain texts by path; they contain the secrets of the cluster."""
    return WRITERS[tool](exported)
