"""The commands of `talops talos` that connect to nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.cli.talos import etcd as talos_etcd
from talops.cli.talos import power as talos_power
from talops.cli.talos import resources as talos_resources
from talops.cli.talos import status as talos_status

if TYPE_CHECKING:
    import typer


def add_to(app: typer.Typer) -> None:
    for group in (talos_resources, talos_status, talos_power, talos_etcd):
        group.add_to(app)
