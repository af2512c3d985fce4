"""Inventories: structure, lines and bytes of valid ones damaged; then all that is made of them."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.fuzz.mutations import HOSTILE_TEXTS, damaged, scrambled

from talops import quickyaml
from talops.inventory.load import load
from talops.machineconfig.from_inventory import requests
from talops.problems import Severity
from talops.render.tree import render
from talops.visible import CONTROL

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[3] / "examples"
CASES = Path(__file__).parents[2] / "cases" / "inventory"
FILES = ("cluster.yaml", "nodes.yaml")
TOKENS = (
    *("&a ", "*a", "<<: *a", "- ", "? ", ": ", "| ", ">-\n", "---\n", "...\n", "!!int ", "!x "),
    *("!!binary ", "!!set ", "'", '"', "[", "]", "{", "}", "#", "%YAML 1.1\n", "\t", "  ", "\\"),
)


class Inventories:
    def __init__(self) -> None:
        self._texts = [
            tuple((folder / file).read_text(encoding="utf-8") for file in FILES)
            for folder in sorted(EXAMPLES.iterdir())
        ]
        self._data = [tuple(map(quickyaml.load, pair)) for pair in self._texts]
        self._bytes = [text.encode() for pair in self._texts for text in pair]
        self._bytes += [path.read_bytes() for path in sorted(CASES.glob("*.yaml"))]
        self._folder = Path(tempfile.mkdtemp(prefix="talops-fuzz-"))

    def close(self) -> None:
        shutil.rmtree(self._folder)

    def make(self, rng: random.Random) -> tuple[bytes, bytes]:
        at = rng.randrange(len(self._texts))
        pair = [text.encode() for text in self._texts[at]]
        which = rng.choice([0, 1, 1])
        kind = rng.random()
        if kind < 0.6:
            pair[which] = _written(damaged(rng, self._data[at][which]))
        elif kind < 0.8:
            pair[which] = _relined(rng, self._texts[at][which]).encode()
        else:
            pair[which] = scrambled(rng, pair[which], self._bytes)
        return pair[0], pair[1]

    def run(self, case: tuple[bytes, bytes]) -> Iterator[object]:
        for file, content in zip(FILES, case, strict=True):
            (self._folder / file).write_bytes(content)
        loaded = load(self._folder)
        for problem in loaded.problems:
            text = str(problem)
            assert not CONTROL.search(text), f"{text!r} is not plain text"
            yield text
        wrong = any(problem.severity is Severity.ERROR for problem in loaded.problems)
        assert (loaded.cluster is None) == wrong
        if loaded.cluster:
            for path, text in render(loaded.cluster).items():
                assert not CONTROL.search(path + text), f"{path} is not plain text"
            requests(loaded.cluster, lambda _: "machine: {}\n")


def _written(value: Any) -> bytes:
    """JSON is YAML; with anchors and block style, ruamel would need most of the time."""
    return json.dumps(value, indent=1).encode()


def _relined(rng: random.Random, text: str) -> str:
    """Lines removed, repeated, exchanged and indented, and tokens of YAML put into them."""
    lines = text.splitlines()
    for _ in range(rng.randint(1, 5)):
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        match rng.randrange(6):
            case 0:
                lines[at : at + 1] = [""]
            case 1:
                lines.insert(at, lines[other])
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at] = " " * rng.choice([1, 2, 70]) + lines[at]
            case 4:
                lines[at] += rng.choice(HOSTILE_TEXTS).replace("\ud800", "")
            case _:
                place = rng.randint(0, len(lines[at]))
                lines[at] = lines[at][:place] + rng.choice(TOKENS) + lines[at][place:]
    return "\n".join(lines) + "\n"
