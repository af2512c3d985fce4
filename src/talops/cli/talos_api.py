"""The commands of `talops talos` that talk to nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.cli import talos_etcd, talos_power, talos_resources, talos_status

if TYPE_CHECKING:
    import typer


def add_to(app: typer.Typer) -> None:
    for group in (talos_resources, talos_status, talos_power, talos_etcd):
        group.add_to(app)
