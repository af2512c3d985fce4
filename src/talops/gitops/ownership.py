"""The owner of an object in the cluster: talops creates it, Flux keeps it."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

FLUX_LABELS = ("kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name")
FLUX_MANAGERS = ("kustomize-controller", "helm-controller", "flux-operator")
OURS = "talops"


def kept_by_flux(live: Object) -> bool:
    """Flux has applied the object; from then on talops does not change its content."""
    labels = live["metadata"].get("labels") or {}
    if any(label in labels for label in FLUX_LABELS):
        return True
    # Finalizers and status are updates; only content is applied.
    return any(
        entry["manager"] in FLUX_MANAGERS
        and entry.get("operation") == "Apply"
        and not entry.get("subresource")
        for entry in live["metadata"].get("managedFields") or []
    )


def still_claimed(live: Object) -> bool:
    """Whether talops still owns fields beside Flux: a field that Flux removes would remain."""
    return any(e["manager"] == OURS for e in live["metadata"].get("managedFields") or [])


def released(live: Object) -> Object:
    """A merge patch that removes talops from the field managers and changes no value."""
    others = [e for e in live["metadata"]["managedFields"] if e["manager"] != OURS]
    version = live["metadata"]["resourceVersion"]
    return {"metadata": {"resourceVersion": version, "managedFields": others}}
