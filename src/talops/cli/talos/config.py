"""`talops talos gen-config` and `validate`: write and validate machine configs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from talops import __version__
from talops.cli.options import Directory, Format, Output
from talops.cli.output import note, print_json
from talops.errors import TalopsError
from talops.plural import count

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.generated import Change
    from talops.inventory.model import Cluster
    from talops.machineconfig.secrets.bundle import Bundle

_MARKS = {"create": "+", "update": "~", "remove": "-"}


def add_to(app: typer.Typer) -> None:
    app.command("gen-config")(gen_config)
    app.command("validate")(validate)


def gen_config(
    directory: Directory = None,
    secrets: Annotated[
        Path | None,
        typer.Option(
            "--secrets", help="Read unencrypted secrets from this secrets.yaml (- for stdin)."
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 2 if a file would change.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite manually edited configs.")
    ] = False,
    output: Output = Format.TEXT,
) -> None:
    """Write machine configs and the talosconfig to talos/clusterconfig/."""
    from talops.cli.opening import inventory_of
    from talops.cli.talos.secrets import load_bundle
    from talops.site.written_configs import write

    assert directory is not None
    cluster = inventory_of(directory)
    planned = _planned(directory, cluster, load_bundle(directory, secrets))
    _refuse_edited(planned, force=force)
    if not check:
        write(directory, planned)
    _report(planned, output, check=check)
    if check and planned:
        raise typer.Exit(2)


def _planned(directory: Path, cluster: Cluster, bundle: Bundle) -> list[Change]:
    from datetime import UTC, datetime

    from talops.machineconfig.build import build_configs
    from talops.machineconfig.secrets.talosconfig import context_of
    from talops.site.written_configs import config_changes, talosconfig_change

    configs = build_configs(cluster, bundle, _patch_reader(directory, cluster))
    now = datetime.now(UTC)
    access = talosconfig_change(directory, context_of(cluster, bundle, now), now)
    return [*config_changes(directory, configs, __version__), *([access] if access else [])]


def _patch_reader(directory: Path, cluster: Cluster) -> Callable[[str], str]:
    from talops.app.importing.patches import any_encrypted, patch_reader
    from talops.cli.opening import with_keys
    from talops.cli.talos.secrets import read_text

    if not any_encrypted(cluster):
        return lambda name: read_text(directory / name)
    root = directory.resolve()
    return with_keys(root, lambda keys: patch_reader(cluster, root, keys))


def _refuse_edited(planned: list[Change], *, force: bool) -> None:
    edited = [change.path for change in planned if change.edited]
    if edited and not force:
        raise TalopsError(
            f"{count(len(edited), 'machine config')} edited by hand; nothing was changed",
            where=", ".join(edited),
            hint="add the change to a patch in the inventory, "
            "or discard it: talops talos gen-config --force",
        )


def _report(planned: list[Change], output: Format, *, check: bool) -> None:
    if output is Format.JSON:
        files = [{"path": change.path, "action": change.action.value} for change in planned]
        print_json({"version": 1, "changed": not check and bool(planned), "files": files})
        return
    for change in planned:
        typer.echo(f"{_MARKS[change.action.value]} {change.path}")
    verb = "would change" if check else "written"
    typer.echo(f"{len(planned)} files {verb}" if planned else "up to date")


def validate(
    files: Annotated[list[Path], typer.Argument(help="Machine config files (- for stdin).")],
    contract: Annotated[
        str | None, typer.Option(help="Talos contract to validate against, like 1.12.")
    ] = None,
    output: Output = Format.TEXT,
) -> None:
    """Validate machine configs, including errors that Talos finds only at boot."""
    results = [_validated(path, contract) for path in files]
    if output is Format.JSON:
        print_json({"version": 1, "files": results})
    else:
        for result in results:
            for problem in result["problems"]:
                note(f"{result['file']}: {problem}")
            if not result["problems"]:
                typer.echo(f"{result['file']}: valid")
    wrong = [result["file"] for result in results if result["problems"]]
    if wrong:
        raise TalopsError(f"{len(wrong)} of {len(results)} machine configs are not valid")


def _validated(path: Path, contract: str | None) -> dict[str, Any]:
    from talops.cli.talos.secrets import read_text
    from talops.machineconfig import yamltext
    from talops.machineconfig.contract import Contract
    from talops.machineconfig.validation import find_problems

    documents = yamltext.load_all(read_text(path), where=str(path))
    wanted = Contract.for_version(contract) if contract else None
    return {"file": str(path), "problems": find_problems(documents, wanted)}
