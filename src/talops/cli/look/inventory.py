"""talops inventory: show the resolved inventory."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.opening import inventory_of
from talops.cli.options import Directory
from talops.cli.output import console, print_json

if TYPE_CHECKING:
    from talops.inventory.model import Cluster


class Shape(StrEnum):
    TABLE = "table"
    JSON = "json"
    ANSIBLE = "ansible"


def register(root: typer.Typer) -> None:
    app = typer.Typer(help="Show the resolved inventory.", no_args_is_help=True)
    app.command("show")(show)
    app.callback()(lambda: None)
    root.add_typer(app, name="inventory")


def show(
    directory: Directory = None,
    output: Annotated[
        Shape, typer.Option("-o", "--output", help="Output format: table, json or ansible.")
    ] = Shape.TABLE,
) -> None:
    """Print the inventory with defaults and fallbacks applied."""
    from talops.inventory.show import ansible, as_data

    assert directory is not None
    cluster = inventory_of(directory)
    if output is Shape.JSON:
        print_json({"version": 1, **as_data(cluster)})
    elif output is Shape.ANSIBLE:
        print_json(ansible(cluster))
    else:
        _table(cluster)


def _table(cluster: Cluster) -> None:
    from rich.table import Table

    from talops.inventory.show import COLUMNS, rows

    network = cluster.network
    vlan = f", VLAN {network.vlan}" if network.vlan else ""
    title = (
        f"{cluster.name}: Talos {cluster.talos_version}, Kubernetes {cluster.kubernetes_version}, "
        f"{cluster.endpoint}, {network.cidr}{vlan}"
    )
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in COLUMNS:
        table.add_column(column.upper(), no_wrap=True)
    for row in rows(cluster):
        table.add_row(*(row[column] for column in COLUMNS))
    console().print(table)
