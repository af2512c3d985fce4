"""`talops infra`: the layers, through OpenTofu or Terraform."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.infra.command import Asked, command
from talops.cli.infra.opening import exclusively
from talops.cli.options import (
    AllowDestroy,
    AllowDisconnect,
    AllowReplace,
    AllowUnhealthyEtcd,
    Directory,
    Now,
    allowing,
)
from talops.cli.output import note, print_json
from talops.errors import DifferencesFoundError, TalopsError
from talops.plural import count

if TYPE_CHECKING:
    from talops.app.infra.layers import OpenLayers, Order
    from talops.layer import Layer
    from talops.tofu.policy import Policy

app = typer.Typer(
    help="Plan and apply the layers below infrastructure/.",
    no_args_is_help=True,
    context_settings={"allow_extra_args": True},
)
Parallelism = Annotated[
    int | None,
    typer.Option(
        "--parallelism",
        min=1,
        help="Concurrent resource operations (default: 10, or 4 while creating VMs).",
    ),
]


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="infra")


@command(app, extra=True)
def init(asked: Asked) -> None:
    """Initialise the layers: backend, providers, modules."""
    with asked.run() as run:
        exclusively(run, "init", lambda run: run.init(asked.extra), shared=False)


@command(app, extra=True)
def plan(asked: Asked) -> None:
    """Save and show a plan for each layer; exit 2 if there are changes."""
    from talops.app.infra.running import plan_layers

    with asked.run() as run:
        changed = exclusively(run, "plan", lambda run: plan_layers(run, asked.extra), shared=False)
    if changed:
        note(f"saved plans: {', '.join(changed)}; next: talops infra apply")
        raise typer.Exit(DifferencesFoundError.exit_code)


@command(app, extra=True)
def apply(
    asked: Asked,
    allow_replace: AllowReplace = None,
    allow_destroy: AllowDestroy = None,
    allow_disconnect: AllowDisconnect = None,
    allow_unhealthy_etcd: AllowUnhealthyEtcd = None,
    parallelism: Parallelism = None,
    now: Now = False,
) -> None:
    """Apply the saved plans, then check that no changes are left."""
    from talops.app.infra.running import apply_saved

    policy = allowing(allow_replace, allow_destroy, allow_disconnect, allow_unhealthy_etcd)
    with asked.run() as run:
        order = _order(run, asked, policy, parallelism, now=now)
        exclusively(run, "apply", lambda run: apply_saved(run, order))


@command(app, "apply-auto", extra=True)
def apply_auto(
    asked: Asked,
    allow_replace: AllowReplace = None,
    allow_destroy: AllowDestroy = None,
    allow_disconnect: AllowDisconnect = None,
    allow_unhealthy_etcd: AllowUnhealthyEtcd = None,
    parallelism: Parallelism = None,
    now: Now = False,
) -> None:
    """Plan and apply each layer in one step, with the same checks."""
    from talops.app.infra.running import apply_layers

    policy = allowing(allow_replace, allow_destroy, allow_disconnect, allow_unhealthy_etcd)
    with asked.run() as run:
        order = _order(run, asked, policy, parallelism, now=now)
        exclusively(run, "apply-auto", lambda run: apply_layers(run, order, note))


@command(app, extra=True)
def destroy(
    asked: Asked,
    allow_destroy: AllowDestroy = None,
    allow_unhealthy_etcd: AllowUnhealthyEtcd = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="Allow all VMs to be destroyed.")
    ] = False,
) -> None:
    """Destroy the resources of the layers, the last layer first."""
    from talops.app.infra.layers import Order
    from talops.app.infra.running import destroy_layers

    policy = allowing(None, allow_destroy, None, allow_unhealthy_etcd, everything=everything)
    with asked.run() as run:
        order = _watched(run, Order(policy, extra=asked.extra, destroy=True))
        exclusively(run, "destroy", lambda run: destroy_layers(run, order, note))


@command(app)
def output(asked: Asked) -> None:
    """Show the outputs of the layers; sensitive values only with -o json."""
    with asked.quietly() as run:
        found = {each.name: asyncio.run(run.engine(each).output()) for each in run.layers}
    if asked.json:
        print_json(found)
        return
    for name, values in found.items():
        typer.echo(f"{name}:")
        for key, value in values.items():
            shown = "(sensitive)" if value.get("sensitive") else json.dumps(value["value"])
            typer.echo(f"  {key} = {shown}")


@command(app, "state-list", extra=True)
def state_list(asked: Asked) -> None:
    """List the resources in the state of each layer."""
    with asked.quietly() as run:
        found = {
            each.name: asyncio.run(run.engine(each).state_list(asked.extra)) for each in run.layers
        }
    if asked.json:
        print_json(found)
        return
    for name, addresses in found.items():
        typer.echo(f"{name}:")
        for address in addresses:
            typer.echo(f"  {address}")


@command(app, "force-unlock", output=False)
def force_unlock(
    asked: Asked,
    lock: Annotated[str, typer.Argument(metavar="LOCK_ID", help="Lock id from the error message.")],
) -> None:
    """Release the lock of an interrupted run."""
    with asked.quietly() as run:
        layer = _only(run, "force-unlock")
        exclusively(run, "force-unlock", lambda run: run.engine(layer).force_unlock(lock))


@command(app)
def validate(asked: Asked) -> None:
    """Validate the files of the layers; change nothing."""
    from talops.app.infra.running import validate_layers

    with asked.offline() as run:
        found = asyncio.run(validate_layers(run))
    if asked.json:
        print_json(found)
    wrong = [p for p in found if p["severity"] == "error"]
    if wrong:
        first = wrong[0]
        raise TalopsError(
            f"{count(len(wrong), 'problem')}, the first: {first['summary']}: {first['detail']}",
            where=f"{first['layer']} {first['where']}".strip(),
            hint=f"talops infra init --layer {first['layer']}, or repair the file",
        )
    note(f"valid: {', '.join(layer.name for layer in run.layers)}")


@command(app, output=False)
def fmt(asked: Asked) -> None:
    """Format the OpenTofu files."""
    _format(asked, check=False)


@command(app, "fmt-check", output=False)
def fmt_check(asked: Asked) -> None:
    """List files that are not formatted and change nothing; exit 2 if any."""
    if _format(asked, check=True):
        raise typer.Exit(DifferencesFoundError.exit_code)


@app.command("secrets-edit")
def secrets_edit(directory: Directory = None) -> None:
    """Edit the encrypted credentials (talops secrets edit)."""
    from talops.cli.app import run

    raise typer.Exit(run(["-C", str(directory), "secrets", "edit"]))


@command(app, extra=True)
def refresh(asked: Asked) -> None:
    """Update the state to match real resources; no resource is changed."""
    from talops.app.infra.running import refresh_layers

    with asked.run() as run:
        exclusively(run, "refresh", lambda run: refresh_layers(run, asked.extra))


@command(app, "import", extra=True)
def import_(
    asked: Asked,
    address: Annotated[str, typer.Argument(help="Address of the resource in the configuration.")],
    identifier: Annotated[
        str, typer.Argument(metavar="ID", help="Id of the existing resource; for a VM: NODE/VMID.")
    ],
) -> None:
    """Import an existing resource into the state of one layer."""
    with asked.run() as run:
        layer = _only(run, "import")
        exclusively(
            run,
            "import",
            lambda run: run.engine(layer).import_resource(address, identifier, asked.extra),
        )


def _order(
    run: OpenLayers, asked: Asked, policy: Policy, parallelism: int | None, *, now: bool
) -> Order:
    from talops.app.infra.layers import Order

    return _watched(run, Order(policy, parallelism=parallelism, extra=asked.extra), now=now)


def _watched(run: OpenLayers, order: Order, *, now: bool = False) -> Order:
    from talops.app.infra.health import watched
    from talops.cli.tools.progress import progress

    with progress() as emit:
        return asyncio.run(watched(run, order, emit, note, now=now))


def _format(asked: Asked, *, check: bool) -> bool:
    found = False
    with asked.offline() as run:
        for each in run.layers:
            for name in asyncio.run(run.engine(each).fmt(check=check)):
                found = True
                typer.echo(f"{each.name}/{name}")
    return found


def _only(run: OpenLayers, verb: str) -> Layer:
    if len(run.layers) != 1:
        names = ", ".join(layer.name for layer in run.layers)
        raise TalopsError(
            f"{verb} requires exactly one layer", hint=f"add --layer with one of: {names}"
        )
    return run.layers[0]
