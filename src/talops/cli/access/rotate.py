"""talops rotate: replace CAs and keys of a running cluster."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

from talops.cli.access import replacing
from talops.cli.options import Directory, DryRun, Format, Output, Timeout, Yes

app = typer.Typer(no_args_is_help=True, help="Replace CAs, keys and passwords of a cluster.")
RestartPods = Annotated[
    bool, typer.Option("--restart-pods", help="Restart pods that hold only the old one.")
]


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="rotate")


@app.command("talos-ca")
def talos_ca(
    directory: Directory = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    timeout: Timeout = None,
    output: Output = Format.TEXT,
) -> None:
    """Replace the CA of the Talos API, node by node, without a reboot."""
    _rotate("talos-ca", directory, yes, dry_run, False, timeout, output)


@app.command("kubernetes-ca")
def kubernetes_ca(
    directory: Directory = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    restart_pods: RestartPods = False,
    timeout: Timeout = None,
    output: Output = Format.TEXT,
) -> None:
    """Replace the CA of Kubernetes, node by node; kubelets restart."""
    _rotate("kubernetes-ca", directory, yes, dry_run, restart_pods, timeout, output)


@app.command("all")
def all_(
    directory: Directory = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    restart_pods: RestartPods = False,
    timeout: Timeout = None,
    output: Output = Format.TEXT,
) -> None:
    """Replace the CA of Talos, then that of Kubernetes."""
    _rotate("all", directory, yes, dry_run, restart_pods, timeout, output)


@app.command("service-account-key")
def service_account_key(
    directory: Directory = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    restart_pods: RestartPods = False,
    timeout: Timeout = None,
    output: Output = Format.TEXT,
) -> None:
    """Replace the key that signs tokens of service accounts (contract 1.14)."""
    _rotate("service-account-key", directory, yes, dry_run, restart_pods, timeout, output)


@app.command("etcd-encryption-key")
def etcd_encryption_key(
    directory: Directory = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    timeout: Timeout = None,
    output: Output = Format.TEXT,
) -> None:
    """Replace the key that encrypts Secrets in etcd (contract 1.14)."""
    _rotate("etcd-encryption-key", directory, yes, dry_run, False, timeout, output)


replacing.add_to(app)


def _rotate(
    name: str,
    directory: Directory,
    yes: bool,
    dry_run: bool,
    restart_pods: bool,
    timeout: Timeout,
    output: Format,
) -> NoReturn:
    from talops.app import runs
    from talops.app.timeouts import with_timeouts
    from talops.cli.opening import site_of
    from talops.cli.running import run_and_exit
    from talops.machineconfig.secrets.rotating import Rotated

    assert directory is not None
    site = with_timeouts(site_of(directory), timeout or ())
    both = [Rotated.TALOS_CA, Rotated.KUBERNETES_CA]
    rotated = both if name == "all" else [Rotated(name)]
    manner = runs.Manner(dry_run, yes)
    run = runs.rotate(site, rotated, manner, restart_pods=restart_pods, name=name)
    run_and_exit(site, run, output)
