"""talops check: validate the inventory."""

from __future__ import annotations

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import print_json


def register(root: typer.Typer) -> None:
    root.command("check")(check)


def check(directory: Directory = None, output: Output = Format.TEXT) -> None:
    """Validate cluster.yaml and nodes.yaml; reports every problem at once."""
    from talops.inventory.load import load
    from talops.inventory.problems import as_dict, errors

    assert directory is not None
    loaded = load(directory)
    wrong = errors(list(loaded.problems))
    if output is Format.JSON:
        print_json(
            {
                "version": 1,
                "valid": not wrong,
                "problems": [as_dict(problem) for problem in loaded.problems],
            }
        )
    else:
        for problem in loaded.problems:
            typer.echo(str(problem))
        typer.echo(
            _summary(len(wrong), len(loaded.problems) - len(wrong), loaded.cluster), err=True
        )
    if wrong:
        raise typer.Exit(3)


def _summary(wrong: int, remarks: int, cluster: object) -> str:
    if wrong:
        return f"{wrong} problem{'s' if wrong > 1 else ''} to fix before any other command runs"
    from talops.inventory.model import Cluster

    assert isinstance(cluster, Cluster)
    planes, workers = len(cluster.control_planes), len(cluster.workers)
    place = f"on Proxmox {', '.join(cluster.proxmox.hosts)}" if cluster.proxmox else "on bare metal"
    extra = f", {remarks} remark{'s' if remarks > 1 else ''}" if remarks else ""
    return (
        f"ok: {cluster.name}, {planes} control plane{'s' if planes > 1 else ''} + {workers} "
        f"worker{'' if workers == 1 else 's'}, Talos {cluster.talos_version}, "
        f"Kubernetes {cluster.kubernetes_version}, {place}{extra}"
    )
