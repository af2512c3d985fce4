"""Of the docs site: the JSON Schemas of both files, for editors that read them by address."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from talops.inventory.jsonschema import cluster_schema, nodes_schema


def on_post_build(config: Any) -> None:
    folder = Path(config["site_dir"]) / "schema"
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in (("cluster", cluster_schema()), ("nodes", nodes_schema())):
        text = json.dumps(schema, indent=2) + "\n"
        (folder / f"{name}.schema.json").write_text(text, encoding="utf-8")
