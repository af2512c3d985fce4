"""A state with the objects that a plan with import blocks has read. Pure.

The plan contains each object as the provider read it. Written into the state in one step, a layer
is taken in wholly or not at all, and nothing is sent to Proxmox.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from talops.adoption.completing import FILE
from talops.adoption.judging import completed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from talops.tofu.plan import Plan

Document = dict[str, Any]


def with_imported(
    before: Document,
    shown: Document,
    plan: Plan,
    addresses: Collection[str],
    urls: Mapping[str, str],
) -> Document:
    """`shown`: the plan as `show -json` prints it; `before` is {} if the state does not exist yet.
    `urls`: where images come from, which the files do not say.
    """
    changes = {change.address: change for change in plan.changes}
    added = [
        _resource(read, completed(changes[read["address"]]) | _source(read, urls))
        for read in _read(shown["prior_state"]["values"]["root_module"])
        if read["address"] in addresses and read.get("mode") == "managed"
    ]
    kept = [dict(resource) for resource in before.get("resources", [])]
    return {
        "version": 4,
        "terraform_version": shown["terraform_version"],
        "serial": int(before.get("serial", 0)) + 1,
        "lineage": before.get("lineage") or str(uuid.uuid4()),
        "outputs": before.get("outputs") or _outputs(shown),
        "resources": _merged(kept, added),
        "check_results": before.get("check_results"),
    }


def _source(read: Document, urls: Mapping[str, str]) -> Document:
    return {"url": urls.get(read["address"])} if read["type"] == FILE else {}


def _read(module: Document) -> Iterator[Document]:
    for resource in module.get("resources", ()):
        yield {**resource, "module": module.get("address")}
    for child in module.get("child_modules", ()):
        yield from _read(child)


def _resource(read: Document, attributes: Document) -> Document:
    """As the state has it: one resource, here with one instance."""
    instance = {
        **({"index_key": read["index"]} if "index" in read else {}),
        "schema_version": read["schema_version"],
        "attributes": attributes,
        "sensitive_attributes": [
            [{"type": "get_attr", "value": key}]
            for key, marked in (read.get("sensitive_values") or {}).items()
            if marked is True
        ],
        **({"dependencies": read["depends_on"]} if read.get("depends_on") else {}),
    }
    return {
        **({"module": read["module"]} if read["module"] else {}),
        "mode": "managed",
        "type": read["type"],
        "name": read["name"],
        "provider": f'provider["{read["provider_name"]}"]',
        "instances": [instance],
    }


def _merged(kept: list[Document], added: list[Document]) -> list[Document]:
    """Instances of one resource belong together."""
    found = {_place(resource): {**resource} for resource in kept}
    for resource in added:
        there = found.get(_place(resource))
        if there is None:
            found[_place(resource)] = resource
        else:
            there["instances"] = [*there["instances"], *resource["instances"]]
    return list(found.values())


def _place(resource: Document) -> tuple[str, str, str, str]:
    return (
        str(resource.get("module", "")),
        str(resource["mode"]),
        str(resource["type"]),
        str(resource["name"]),
    )


def _outputs(shown: Document) -> Document:
    """Those that are known: a later plan has nothing to add."""
    planned = shown.get("planned_values", {}).get("outputs", {})
    return {
        name: {key: value for key, value in output.items() if key != "sensitive" or value}
        for name, output in planned.items()
        if "value" in output and "type" in output
    }
