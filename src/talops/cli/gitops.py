"""`talops gitops`: the Git repository of the cluster, and the deploy key for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import note, print_json

if TYPE_CHECKING:
    from talops.app.opening import Keys

app = typer.Typer(no_args_is_help=True, help="Prepare the Git repository for Flux.")


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="gitops")


@app.command()
def init(directory: Directory = None) -> None:
    """Write the directories that Flux applies; existing files are kept."""
    from talops.app.repository import repository_of, write_skeleton
    from talops.cli.opening import inventory_of, with_keys

    assert directory is not None
    root = directory.resolve()
    repository = repository_of(inventory_of(root))

    async def work(keys: Keys) -> None:
        async for file in write_skeleton(root, repository, keys):
            if file.kept:
                note(f"kept  {file.path} (exists)")
            else:
                typer.echo(f"wrote {file.path}")
        note(f"now commit, push to {repository.branch} of {repository.url}, and run talops up")

    with_keys(root, work)


@app.command("deploy-key")
def deploy_key(directory: Directory = None) -> None:
    """Print the public deploy key for the Git server; create it if missing."""
    from talops.app import repository
    from talops.cli.opening import inventory_of, with_keys

    assert directory is not None
    root = directory.resolve()
    cluster = inventory_of(root)
    public, created = with_keys(root, lambda keys: repository.deploy_key(cluster, keys))
    if created:
        note("created a deploy key; its private half is in infrastructure/secrets.sops.yaml")
    typer.echo(public)


@app.command()
def pin(
    names: Annotated[
        list[str], typer.Argument(help="Names of the releases, such as flux or cilium.")
    ],
    directory: Directory = None,
    output: Output = Format.TEXT,
) -> None:
    """Download releases, verify their published checksums and print the pins."""
    from talops.app.repository import pins
    from talops.cli.opening import inventory_of

    assert directory is not None
    root = directory.resolve()
    found = asyncio.run(pins(inventory_of(root), root, names))
    if output is Format.JSON:
        rows = {s.name: {"version": s.version, "url": s.url, "sha256": d} for s, d in found}
        print_json({"releases": rows})
        return
    typer.echo("releases:")
    for source, checksum in found:
        typer.echo(f"  {source.name}:\n    version: {source.version}\n    url: {source.url}")
        typer.echo(f"    sha256: {checksum}")
