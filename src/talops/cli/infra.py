"""`talops infra`: the layers, through OpenTofu or Terraform."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import note, print_json
from talops.errors import DifferencesFoundError, TalopsError

if TYPE_CHECKING:
    from talops.cli.infra_context import Context, Order

app = typer.Typer(
    help="Plan and apply the layers below infrastructure/.",
    no_args_is_help=True,
    context_settings={"allow_extra_args": True},
)
EXTRA = {"allow_extra_args": True}

Layers = Annotated[
    list[str] | None,
    typer.Option("--layer", help="Work on this layer (repeat for more); default: all, in order."),
]
Tofu = Annotated[
    str | None, typer.Option("--tofu", help="Use this engine: tofu, terraform, or its path.")
]
AllowReplace = Annotated[
    list[str] | None,
    typer.Option("--allow-replace", metavar="NAME", help="This VM may be made anew."),
]
AllowDestroy = Annotated[
    list[str] | None,
    typer.Option("--allow-destroy", metavar="NAME", help="This VM, or a disk of it, may go."),
]
Parallelism = Annotated[
    int | None,
    typer.Option("--parallelism", min=1, help="Resources at once; default: 10, creating VMs: 4."),
]


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="infra")


@app.command(context_settings=EXTRA)
def init(
    ctx: typer.Context,
    directory: Directory = None,
    layer: Layers = None,
    tofu: Tofu = None,
    output: Output = Format.TEXT,
) -> None:
    """Initialise the layers: backend, providers, modules."""
    from talops.cli.infra_context import context

    with context(directory, layer, output, tofu) as run:
        for each in run.layers:
            asyncio.run(run.engine(each).init(ctx.args))


@app.command(context_settings=EXTRA)
def plan(
    ctx: typer.Context,
    directory: Directory = None,
    layer: Layers = None,
    tofu: Tofu = None,
    output: Output = Format.TEXT,
) -> None:
    """Save a plan for each layer and show what it would do; exit 2 if it would do anything."""
    from talops.cli.infra_context import context
    from talops.cli.infra_runs import plan_layers

    with context(directory, layer, output, tofu) as run:
        changed = asyncio.run(plan_layers(run, ctx.args))
    if changed:
        note(f"plans are saved for: {', '.join(changed)}; next: talops infra apply")
        raise typer.Exit(DifferencesFoundError.exit_code)


@app.command(context_settings=EXTRA)
def apply(
    ctx: typer.Context,
    directory: Directory = None,
    layer: Layers = None,
    allow_replace: AllowReplace = None,
    allow_destroy: AllowDestroy = None,
    parallelism: Parallelism = None,
    tofu: Tofu = None,
    output: Output = Format.TEXT,
) -> None:
    """Apply the saved plans, and only those; then prove that nothing is left to do."""
    from talops.cli.infra_context import context
    from talops.cli.infra_runs import apply_saved

    with context(directory, layer, output, tofu) as run:
        order = _order(run, allow_replace, allow_destroy, parallelism, ctx.args)
        asyncio.run(apply_saved(run, order))


@app.command("apply-auto", context_settings=EXTRA)
def apply_auto(
    ctx: typer.Context,
    directory: Directory = None,
    layer: Layers = None,
    allow_replace: AllowReplace = None,
    allow_destroy: AllowDestroy = None,
    parallelism: Parallelism = None,
    tofu: Tofu = None,
    output: Output = Format.TEXT,
) -> None:
    """Plan and apply each layer in one go, with the same judgement and the same final check."""
    from talops.cli.infra_context import context
    from talops.cli.infra_runs import apply_layers

    with context(directory, layer, output, tofu) as run:
        order = _order(run, allow_replace, allow_destroy, parallelism, ctx.args)
        asyncio.run(apply_layers(run, order))


@app.command(context_settings=EXTRA)
def destroy(
    ctx: typer.Context,
    directory: Directory = None,
    layer: Layers = None,
    allow_destroy: AllowDestroy = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="All of it may go, without naming each VM.")
    ] = False,
    tofu: Tofu = None,
    output: Output = Format.TEXT,
) -> None:
    """Destroy what the layers made, the last layer first."""
    from talops.cli.infra_context import Order, context
    from talops.cli.infra_runs import destroy_layers
    from talops.tofu.policy import Policy

    with context(directory, layer, output, tofu) as run:
        policy = Policy(allow_destroy=frozenset(allow_destroy or ()), everything=everything)
        asyncio.run(destroy_layers(run, Order(policy, extra=ctx.args, destroy=True)))


@app.command()
def output(
    directory: Directory = None,
    layer: Layers = None,
    tofu: Tofu = None,
    output: Output = Format.TEXT,
) -> None:
    """Show the outputs of the layers; sensitive ones only with -o json."""
    from talops.cli.infra_context import context

    with context(directory, layer, Format.TEXT, tofu) as run:
        found = asyncio.run(_outputs(run))
    if output is Format.JSON:
        print_json(found)
        return
    for name, values in found.items():
        typer.echo(f"{name}:")
        for key, value in values.items():
            typer.echo(f"  {key} = {'(sensitive)' if value.get('sensitive') else value['value']}")


@app.command("state-list", context_settings=EXTRA)
def state_list(
    ctx: typer.Context,
    directory: Directory = None,
    layer: Layers = None,
    tofu: Tofu = None,
    output: Output = Format.TEXT,
) -> None:
    """List what the state of each layer holds."""
    from talops.cli.infra_context import context

    with context(directory, layer, Format.TEXT, tofu) as run:
        found = {
            each.name: asyncio.run(run.engine(each).state_list(ctx.args)) for each in run.layers
        }
    if output is Format.JSON:
        print_json(found)
        return
    for name, addresses in found.items():
        typer.echo(f"{name}:")
        for address in addresses:
            typer.echo(f"  {address}")


@app.command("force-unlock")
def force_unlock(
    lock: Annotated[str, typer.Argument(metavar="LOCK_ID", help="As the error message names it.")],
    directory: Directory = None,
    layer: Layers = None,
    tofu: Tofu = None,
) -> None:
    """Release the lock that a killed run left behind."""
    from talops.cli.infra_context import context

    with context(directory, layer, Format.TEXT, tofu) as run:
        one = _only(run, "force-unlock")
        asyncio.run(run.engine(one).force_unlock(lock))


@app.command()
def validate(
    directory: Directory = None,
    layer: Layers = None,
    tofu: Tofu = None,
    output: Output = Format.TEXT,
) -> None:
    """Check the files of the layers without touching anything."""
    from talops.cli.infra_context import context
    from talops.cli.infra_runs import validate_layers

    with context(directory, layer, Format.TEXT, tofu) as run:
        found = asyncio.run(validate_layers(run))
    if output is Format.JSON:
        print_json(found)
    wrong = [p for p in found if p["severity"] == "error"]
    if wrong:
        first = wrong[0]
        raise TalopsError(
            f"{len(wrong)} problem(s), the first: {first['summary']}: {first['detail']}",
            where=f"{first['layer']} {first['where']}".strip(),
            hint=f"talops infra init --layer {first['layer']}, or repair the file",
        )


@app.command("fmt")
def fmt(directory: Directory = None, layer: Layers = None, tofu: Tofu = None) -> None:
    """Format the OpenTofu files."""
    _format(directory, layer, tofu, check=False)


@app.command("fmt-check")
def fmt_check(directory: Directory = None, layer: Layers = None, tofu: Tofu = None) -> None:
    """Name the files that are not formatted; exit 2 if there are any."""
    if _format(directory, layer, tofu, check=True):
        raise typer.Exit(DifferencesFoundError.exit_code)


@app.command("secrets-edit")
def secrets_edit(directory: Directory = None) -> None:
    """Edit the encrypted credentials (talops secrets edit)."""
    from talops.cli.app import run

    raise typer.Exit(run(["-C", str(directory), "secrets", "edit"]))


@app.command(context_settings=EXTRA)
def refresh(
    ctx: typer.Context,
    directory: Directory = None,
    layer: Layers = None,
    tofu: Tofu = None,
    output: Output = Format.TEXT,
) -> None:
    """Bring the state up to date with the world; the world itself is not changed."""
    from talops.cli.infra_context import context

    with context(directory, layer, output, tofu) as run:
        for each in run.layers:
            asyncio.run(run.engine(each).refresh(ctx.args))


@app.command("import", context_settings=EXTRA)
def import_(
    ctx: typer.Context,
    address: Annotated[str, typer.Argument(help="Where it belongs in the configuration.")],
    identifier: Annotated[str, typer.Argument(metavar="ID", help="For a VM: NODE/VMID.")],
    directory: Directory = None,
    layer: Layers = None,
    tofu: Tofu = None,
    output: Output = Format.TEXT,
) -> None:
    """Take something that exists into the state of one layer."""
    from talops.cli.infra_context import context

    with context(directory, layer, output, tofu) as run:
        one = _only(run, "import")
        asyncio.run(run.engine(one).import_resource(address, identifier, ctx.args))


def _order(
    run: Context,
    replace: list[str] | None,
    destroy: list[str] | None,
    parallelism: int | None,
    extra: list[str],
) -> Order:
    from talops.cli.infra_context import Order
    from talops.cli.infra_health import health_of
    from talops.tofu.policy import Policy

    policy = Policy(frozenset(replace or ()), frozenset(destroy or ()))
    return Order(policy, health_of(run), parallelism, extra)


async def _outputs(run: Context) -> dict[str, Any]:
    return {each.name: await run.engine(each).output() for each in run.layers}


def _format(directory: Any, layer: list[str] | None, tofu: str | None, *, check: bool) -> bool:
    from talops.cli.infra_context import context

    found = False
    with context(directory, layer, Format.TEXT, tofu) as run:
        for each in run.layers:
            for name in asyncio.run(run.engine(each).fmt(check=check)):
                found = True
                typer.echo(f"{each.name}/{name}")
    return found


def _only(run: Context, verb: str) -> Any:
    if len(run.layers) != 1:
        names = ", ".join(layer.name for layer in run.layers)
        raise TalopsError(f"{verb} works on one layer", hint=f"add --layer with one of: {names}")
    return run.layers[0]
