"""JSON Schemas of the two files, for editors."""

from __future__ import annotations

from typing import Any

from talops.inventory.files import (
    REQUIRED_CLUSTER,
    REQUIRED_NODE,
    ClusterFile,
    NodeFile,
)
from talops.inventory.keys.foreign import FOREIGN_NAMES, FOREIGN_PREFIXES, OWN_MARK

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def cluster_schema() -> dict[str, Any]:
    schema = _tidy(ClusterFile.model_json_schema())
    schema["required"] = list(REQUIRED_CLUSTER)
    schema["patternProperties"] = {f"^{prefix}": {} for prefix in (*FOREIGN_PREFIXES, *OWN_MARK)}
    schema["properties"] |= {
        name: {"description": "For other tools; talops ignores it."} for name in FOREIGN_NAMES
    }
    return {"$schema": DIALECT, "title": "talops cluster.yaml", **schema}


def nodes_schema() -> dict[str, Any]:
    node = _tidy(NodeFile.model_json_schema())
    definitions = node.pop("$defs", {})
    node["required"] = list(REQUIRED_NODE)
    return {
        "$schema": DIALECT,
        "title": "talops nodes.yaml",
        "type": "object",
        "additionalProperties": False,
        "required": ["nodes"],
        "properties": {"nodes": {"type": "array", "minItems": 1, "items": node}},
        "$defs": definitions,
    }


def _tidy(value: Any) -> Any:
    """Remove `null` types and generated titles: an unset key is left out."""
    if isinstance(value, list):
        return [_tidy(item) for item in value]
    if not isinstance(value, dict):
        return value
    tidy = {
        key: _tidy(item)
        for key, item in value.items()
        if not (key == "title" and isinstance(item, str))
        and not (key == "default" and item is None)
    }
    choices = tidy.get("anyOf")
    if isinstance(choices, list):
        kept = [choice for choice in choices if choice != {"type": "null"}]
        tidy.pop("anyOf")
        tidy |= kept[0] if len(kept) == 1 else {"anyOf": kept}
    return tidy
