"""Create the files of a new inventory; existing files are kept."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.files import write_atomic
from talops.inventory.jsonschema import cluster_schema, nodes_schema
from talops.inventory.samples import GITIGNORE, cluster_text, nodes_text
from talops.secrets.age import AgeKey, KeyRing, load_keys
from talops.secrets.init import KEY_FILE
from talops.secrets.rules import FILE as RULES_FILE
from talops.secrets.rules import rules_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from talops.inventory.samples import Answers


@dataclass(frozen=True)
class NewFile:
    """`kept`: it existed. `private`: it must never be committed."""

    path: str
    kept: bool = False
    private: bool = False


def create_inventory(directory: Path, answers: Answers) -> Iterator[NewFile]:
    yield from _written(
        directory,
        {"cluster.yaml": cluster_text(answers), "nodes.yaml": nodes_text(answers)},
    )
    yield from create_surroundings(directory)


def create_surroundings(directory: Path) -> Iterator[NewFile]:
    """What an inventory has next to it: schemas for editors, .gitignore, rules of SOPS, a key."""
    files = {
        ".gitignore": GITIGNORE,
        ".schema/cluster.schema.json": json.dumps(cluster_schema(), indent=2) + "\n",
        ".schema/nodes.schema.json": json.dumps(nodes_schema(), indent=2) + "\n",
    }
    yield from _written(directory, files)
    yield from _sops_rules(directory)


def _written(directory: Path, files: Mapping[str, str]) -> Iterator[NewFile]:
    for name, text in files.items():
        if (directory / name).exists():
            yield NewFile(name, kept=True)
            continue
        write_atomic(directory / name, text)
        yield NewFile(name)


def _sops_rules(directory: Path) -> Iterator[NewFile]:
    """Write .sops.yaml, which contains the recipients; create a key if none exists."""
    if (directory / RULES_FILE).exists():
        yield NewFile(RULES_FILE, kept=True)
        return
    keys = load_keys(directory / KEY_FILE)
    if keys is None:
        keys = KeyRing((AgeKey.generate(),))
        keys.save(directory / KEY_FILE)
        yield NewFile(KEY_FILE, private=True)
    write_atomic(directory / RULES_FILE, rules_text([key.recipient for key in keys.keys]))
    yield NewFile(RULES_FILE)
