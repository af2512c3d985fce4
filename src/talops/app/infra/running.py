"""Plan, apply and destroy several layers; `note` receives what is not an event."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from talops.app.infra.layers import Order
from talops.errors import DifferencesFoundError, TalopsError
from talops.rolls.permission import NotNowError
from talops.site.layer_access import expected_outputs
from talops.site.state.copies import copies_around
from talops.tofu.apply import fleeting
from talops.tofu.outputs import output_differences
from talops.tofu.policy import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talops.app.infra.layers import OpenLayers
    from talops.layer import Layer

    Note = Callable[[str], None]


async def plan_layers(run: OpenLayers, extra: Sequence[str]) -> list[str]:
    """Plan each layer; returns the layers with changes. An empty plan is not saved."""
    changed: list[str] = []
    for layer in run.layers:
        saved = run.saved(layer)
        if await run.engine(layer).plan(saved, extra=extra):
            await run.applier(layer, Order()).judged(saved)
            changed.append(layer.name)
        else:
            saved.unlink(missing_ok=True)
    return changed


async def apply_saved(run: OpenLayers, order: Order) -> None:
    """Apply all saved plans."""
    ready = [layer for layer in run.layers if run.saved(layer).exists()]
    if not ready:
        names = ", ".join(layer.name for layer in run.layers)
        raise TalopsError("no saved plan exists", where=names, hint="talops infra plan")
    for layer in ready:
        await _apply(run, layer, order)


async def apply_layers(run: OpenLayers, order: Order, note: Note) -> None:
    for layer in run.layers:
        saved = run.saved(layer)
        with fleeting(saved):
            if await run.engine(layer).plan(saved, extra=order.extra):
                await _apply(run, layer, replace(order, extra=()))
            else:
                note(f"{layer.name}: no changes")


async def _apply(run: OpenLayers, layer: Layer, order: Order) -> None:
    applier = run.applier(layer, order)
    saved = run.saved(layer)
    try:
        with copies_around(run.root, run.cluster):
            await applier.apply(saved)
    except (RefusedError, NotNowError):  # nothing was changed: a later run can use this plan
        raise
    except BaseException:
        saved.unlink(missing_ok=True)
        raise
    saved.unlink(missing_ok=True)
    await applier.no_drift(saved)
    await _check_outputs(run, layer)


async def _check_outputs(run: OpenLayers, layer: Layer) -> None:
    """Check the contract with the readers of the outputs."""
    if run.cluster is None or layer.name != f"02-platforms/{run.cluster.name}":
        return
    found = await run.engine(layer).output()
    wrong = output_differences(found, expected_outputs(run.cluster))
    if wrong:
        raise DifferencesFoundError(
            "the outputs do not match the inventory: " + "; ".join(wrong),
            where=layer.name,
            hint="talops configure",
        )


async def destroy_layers(run: OpenLayers, order: Order, note: Note) -> None:
    for layer in reversed(run.layers):
        saved = run.saved(layer).with_suffix(".destroy.tfplan")
        with fleeting(saved):
            if await run.engine(layer).plan(saved, destroy=True, extra=order.extra):
                with copies_around(run.root, run.cluster):
                    await run.applier(layer, order).apply(saved)
            else:
                note(f"{layer.name}: nothing to destroy")


async def refresh_layers(run: OpenLayers, extra: Sequence[str]) -> None:
    for layer in run.layers:
        await run.engine(layer).refresh(extra)


async def validate_layers(run: OpenLayers) -> list[dict[str, Any]]:
    found = []
    for layer in run.layers:
        problems = await run.engine(layer).validate()
        found += [dataclasses.asdict(problem) for problem in problems]
    return found
