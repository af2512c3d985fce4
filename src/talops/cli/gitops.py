"""`talops gitops`: the Git repository of the cluster, and the deploy key for it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import note, print_json
from talops.errors import TalopsError

if TYPE_CHECKING:
    from pathlib import Path

    from talops.app.opening import Keys
    from talops.gitops.catalog import Source
    from talops.inventory.model import Cluster, Repository

app = typer.Typer(no_args_is_help=True, help="Prepare the Git repository for Flux.")


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="gitops")


@app.command()
def init(directory: Directory = None) -> None:
    """Write the directories that Flux applies; existing files are kept."""
    import secrets

    from talops.cli.opening import with_keys
    from talops.files import write_atomic
    from talops.gitops.skeleton import skeleton
    from talops.redaction import Secret

    assert directory is not None
    root = directory.resolve()
    repository = _repository(_cluster(root))

    async def work(keys: Keys) -> None:
        for file in skeleton(repository, Secret(secrets.token_hex(16))):
            path = root / file.path
            if path.exists():
                note(f"kept  {file.path} (exists)")
                continue
            sealed = await keys.sops.encrypt(file.text, path) if file.sealed else file.text
            write_atomic(path, sealed)
            typer.echo(f"wrote {file.path}")
        note(f"now commit, push to {repository.branch} of {repository.url}, and run talops up")

    with_keys(root, work)


@app.command("deploy-key")
def deploy_key(directory: Directory = None) -> None:
    """Print the public deploy key for the Git server; create it if missing."""
    from talops.cli.opening import with_keys
    from talops.gitops import deploykey
    from talops.secrets.vault import Vault

    assert directory is not None
    root = directory.resolve()
    cluster = _cluster(root)

    async def work(keys: Keys) -> str:
        vault = Vault.of(keys.sops)
        key = (await vault.read()).get(deploykey.VAULT_NAME)
        if key is None:
            key = deploykey.generate()
            await vault.write({deploykey.VAULT_NAME: key})
            note("created a deploy key; its private half is in infrastructure/secrets.sops.yaml")
        return deploykey.public_part(key, f"talops {cluster.name}")

    typer.echo(with_keys(root, work))


@app.command()
def pin(
    names: Annotated[
        list[str], typer.Argument(help="Names of the releases, such as flux or cilium.")
    ],
    directory: Directory = None,
    output: Output = Format.TEXT,
) -> None:
    """Download releases, verify their published checksums and print the pins."""
    from talops.delivery.releases import digest, download
    from talops.gitops.catalog import known

    assert directory is not None
    root = directory.resolve()
    cluster = _cluster(root)

    async def work() -> list[tuple[Source, str]]:
        found = []
        for name in names:
            own = cluster.releases.get(name)
            source = known(name)
            if own:
                source = replace(source, version=own.version, url=own.url, ca_file=own.ca_file)
            found.append((source, digest(await download(source, root))))
        return found

    found = asyncio.run(work())
    if output is Format.JSON:
        rows = {s.name: {"version": s.version, "url": s.url, "sha256": d} for s, d in found}
        print_json({"releases": rows})
        return
    typer.echo("releases:")
    for source, checksum in found:
        typer.echo(f"  {source.name}:\n    version: {source.version}\n    url: {source.url}")
        typer.echo(f"    sha256: {checksum}")


def _cluster(root: Path) -> Cluster:
    from talops.cli.opening import inventory_of

    return inventory_of(root)


def _repository(cluster: Cluster) -> Repository:
    if cluster.repository is None:
        raise TalopsError(
            "the inventory does not name a Git repository",
            where="cluster.yaml",
            hint="add repository_name: owner/name",
        )
    return cluster.repository
