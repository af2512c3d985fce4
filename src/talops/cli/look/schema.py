"""talops schema: JSON Schemas for editors."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from talops.cli.options import Directory
from talops.cli.output import print_json
from talops.files import write_atomic


class SchemaName(StrEnum):
    CLUSTER = "cluster"
    NODES = "nodes"


def register(root: typer.Typer) -> None:
    root.command("schema")(schema)


def schema(
    which: Annotated[
        SchemaName, typer.Argument(help="File to print the schema of.")
    ] = SchemaName.CLUSTER,
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Write both schemas to .schema/, where the files expect them."
        ),
    ] = False,
    directory: Directory = None,
) -> None:
    """Print the JSON Schema of cluster.yaml or nodes.yaml."""
    from talops.inventory.jsonschema import cluster_schema, nodes_schema

    made = {SchemaName.CLUSTER: cluster_schema(), SchemaName.NODES: nodes_schema()}
    if not write:
        print_json(made[which])
        return
    assert directory is not None
    for name, content in made.items():
        path = directory / ".schema" / f"{name}.schema.json"
        write_atomic(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        typer.echo(f"wrote .schema/{name}.schema.json")
