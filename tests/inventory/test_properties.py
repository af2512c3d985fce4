"""Random right inventories render; random damage is refused with a place, never a traceback."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.inventory.strategies import inventories

from talops.inventory.load import Loaded, load
from talops.problems import Severity
from talops.render.tree import render

if TYPE_CHECKING:
    import random

QUICK = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)


def load_texts(cluster: str | bytes, nodes: str | bytes) -> Loaded:
    with tempfile.TemporaryDirectory() as name:
        for file, content in (("cluster.yaml", cluster), ("nodes.yaml", nodes)):
            data = content.encode() if isinstance(content, str) else content
            (Path(name) / file).write_bytes(data)
        return load(Path(name))


@QUICK
@given(inventories())
def test_right_inventories_render(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """The same text twice gives the same files; JSON is YAML, so it can be written that way."""
    cluster, nodes = (json.dumps(part, ensure_ascii=False) for part in pair)
    first, second = load_texts(cluster, nodes), load_texts(cluster, nodes)
    assert [p for p in first.problems if p.severity is Severity.ERROR] == []
    files = render(first.require())
    assert files == render(second.require())
    assert any(
        path.endswith("02-platforms/" + pair[0]["cluster_name"] + "/main.tf") for path in files
    )


DAMAGE: list[Any] = [None, "", "x y", -1, 0, 1e9, True, [], {}, [None], {"a": 1}, "10.0.0.300", "☃"]


@QUICK
@given(inventories(), st.randoms(use_true_random=False))
def test_damaged_values_are_told(
    pair: tuple[dict[str, Any], dict[str, Any]], rng: random.Random
) -> None:
    """One value replaced by something else: accepted where it fits, else refused with a place."""
    cluster, nodes = pair
    target = rng.choice([cluster, rng.choice(nodes["nodes"])])
    target[rng.choice([*target, "surprise"])] = rng.choice(DAMAGE)
    told(load_texts(json.dumps(cluster, indent=1), json.dumps(nodes, indent=1)))


@QUICK
@given(inventories(), st.randoms(use_true_random=False))
def test_damaged_bytes_are_told(
    pair: tuple[dict[str, Any], dict[str, Any]], rng: random.Random
) -> None:
    """Bytes flipped, cut out or doubled anywhere in either file."""
    texts = [bytearray(json.dumps(part, indent=1).encode()) for part in pair]
    text = rng.choice(texts)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        match rng.randrange(3):
            case 0:
                text[at] = rng.randrange(256)
            case 1:
                del text[at : at + rng.randint(1, 40)]
            case _:
                text[at:at] = text[at : at + rng.randint(1, 40)]
        if not text:
            break
    told(load_texts(bytes(texts[0]), bytes(texts[1])))


def told(loaded: Loaded) -> None:
    wrong = [p for p in loaded.problems if p.severity is Severity.ERROR]
    assert bool(wrong) == (loaded.cluster is None)
    for problem in loaded.problems:
        assert problem.where.file in {"cluster.yaml", "nodes.yaml"}
        assert problem.where.line >= 1
        assert problem.what
        assert problem.hint
    if loaded.cluster:
        render(loaded.cluster)
