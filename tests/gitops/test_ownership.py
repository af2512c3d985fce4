"""When talops lets go of an object."""

from __future__ import annotations

from typing import Any

import pytest

from talops.gitops.ownership import kept_by_flux, released, still_claimed


def live(*entries: tuple[str, str, str], **labels: str) -> dict[str, Any]:
    fields = [
        {"manager": m, "operation": o, **({"subresource": s} if s else {})} for m, o, s in entries
    ]
    names = {key.replace("__", "/").replace("_", "."): value for key, value in labels.items()}
    return {"metadata": {"resourceVersion": "7", "managedFields": fields, "labels": names}}


OURS = ("talops", "Apply", "")


@pytest.mark.parametrize(
    ("obj", "kept"),
    [
        (live(OURS), False),
        (live(OURS, ("kustomize-controller", "Apply", "")), True),
        (live(OURS, ("kustomize-controller", "Update", "")), False),
        (live(OURS, ("kustomize-controller", "Apply", "status")), False),
        (live(OURS, ("kubectl", "Apply", "")), False),
        (live(OURS, kustomize_toolkit_fluxcd_io__name="apps"), True),
        (live(OURS, helm_toolkit_fluxcd_io__name="cilium"), True),
    ],
)
def test_whose_it_is(obj: dict[str, Any], kept: bool) -> None:
    """Content that Flux applied is Flux'; its finalizers and status claim nothing."""
    assert kept_by_flux(obj) is kept


def test_letting_go_changes_no_value() -> None:
    """Only the list of owners, and only if the object did not change meanwhile."""
    obj = live(OURS, ("kustomize-controller", "Apply", ""))
    assert still_claimed(obj)
    patch = released(obj)
    assert set(patch) == {"metadata"}
    assert patch["metadata"]["resourceVersion"] == "7"
    assert [e["manager"] for e in patch["metadata"]["managedFields"]] == ["kustomize-controller"]
