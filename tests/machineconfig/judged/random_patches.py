"""Random configs and patches for them, made from our schema and from words that Talos accepts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.machineconfig.judged.vocabulary import Place, Vocabulary, header

from talops.machineconfig import yamltext
from talops.machineconfig.patches.deletion import MARK
from talops.machineconfig.patches.identity import MAIN_KIND, identify
from talops.machineconfig.schema.cluster import MAIN
from talops.machineconfig.schema.documents import KINDS
from talops.machineconfig.schema.types import (
    ListOf,
    MapOf,
    Scalar,
    Special,
    Struct,
    Type,
    ZeroValued,
)

if TYPE_CHECKING:
    import random

# Without these it is not a document any more.
KEPT = {"apiVersion", "kind", "name", "version", "debug"}
JSON_PATCH = '[{"op": "add", "path": "/machine/token", "value": "x"}]'
# Compared as Talos writes it, whatever was written before.
UNCOMPARABLE = {"permissions", "persistentKeepaliveInterval"}
# The first cannot be merged by Talos 1.13: it stumbles over its own type for networks. Two of the
# second would have to be peers of each other.
UNMERGEABLE = {"RoutingRuleConfig", "VethConfig"}
# Nor can this, where both sides have it: it stumbles over its own type for conditions.
UNMERGEABLE_FIELD = (MAIN_KIND, "machine", "install", "diskSelector", "size")


@dataclass
class Maker:
    """Makes documents; `wild` is how often a value does not fit."""

    rng: random.Random
    vocabulary: Vocabulary
    most: int = 3
    wild: float = 0.0

    def document(self, kind: str, name: str) -> dict[str, Any]:
        schema = MAIN if kind == MAIN_KIND else KINDS[kind]
        given = header(kind, name)
        rest = {key: value for key, value in schema.fields.items() if key not in given}
        if kind == MAIN_KIND:
            rest = {key: schema.fields[key] for key in ("machine", "cluster")}
            given = {"version": "v1alpha1", "debug": False}
        return given | self._struct(Struct(rest), (kind,))

    def value(self, kind: Type, path: Place) -> Any:
        if self.rng.random() < self.wild and len(path) > 1:
            return self.rng.choice(_misfits(kind)[path[-1] in {"[]", "*"} :])
        if isinstance(kind, ZeroValued):
            return self.rng.choice([kind.zero, *self.vocabulary.words(path, Scalar.ANY)])
        if isinstance(kind, Scalar):
            return self.rng.choice(self.vocabulary.words(path, kind))
        if isinstance(kind, Special):
            return self._special(kind, path)
        return self._several(kind, path)

    def _several(self, kind: Struct | MapOf | ListOf, path: Place) -> Any:
        if isinstance(kind, Struct):
            return self._struct(kind, path)
        if isinstance(kind, MapOf):
            keys = self.rng.sample(["a", "b", "c"], self.rng.randint(1, 2))
            return {key: self.value(kind.value, (*path, "*")) for key in keys}
        count = self.rng.choice([0, 1, 1, 2, 2])
        return [self.value(kind.item, (*path, "[]")) for _ in range(count)]

    def _struct(self, kind: Struct, path: Place) -> dict[str, Any]:
        places = {name: (*path, name) for name in kind.fields}
        names = [
            name
            for name, place in places.items()
            if place != UNMERGEABLE_FIELD and self.vocabulary.knows(place)
        ]
        chosen = self.rng.sample(names, min(len(names), self.rng.randint(1, self.most)))
        return {name: self.value(kind.fields[name], (*path, name)) for name in chosen}

    def _special(self, kind: Special, path: Place) -> Any:
        keys = self.rng.sample(["a", "b", "c"], self.rng.randint(1, 2))
        match kind:
            case Special.ARGS:
                return {key: self.rng.choice(["x", "y", "", ["x", "y"]]) for key in keys}
            case Special.PAIR:
                return self.rng.choice([{"crt": "YWJj", "key": "ZGVm"}, {"crt": "eHl6"}])
            case _:
                return {key: self.free(2) for key in keys}

    def free(self, depth: int) -> Any:
        simple = ["x", "y", "", 0, 1, 2, True, False]
        if not depth or self.rng.random() < 0.5:
            return self.rng.choice(simple)
        if self.rng.random() < 0.5:
            return [self.free(depth - 1) for _ in range(self.rng.randrange(3))]
        return {key: self.free(depth - 1) for key in self.rng.sample("abc", self.rng.randint(1, 2))}


def _misfits(kind: Type) -> list[Any]:
    """Values of another kind; which texts fit a text's place is another question."""
    if kind in (Scalar.NUMBER, Scalar.COUNT, Scalar.FLAG, Scalar.SWITCH):
        return [None, "wild", ["wild"], {"wild": "wild"}]
    if isinstance(kind, Scalar | ZeroValued):
        return [None, ["wild"], {"wild": "wild"}]
    if isinstance(kind, ListOf):
        return [None, "wild", 5, True, {"wild": "wild"}]
    return [None, "wild", 5, True, ["wild"], {"wild": "wild"}]


@dataclass(frozen=True)
class Pair:
    """A config, and patches that are applied to it one after the other."""

    config: list[dict[str, Any]]
    patches: list[str]
    simple: bool  # one patch of one document with values that fit: at most one thing is wrong

    def __str__(self) -> str:
        return json.dumps({"config": self.config, "patches": self.patches}, indent=1)


def random_pair(rng: random.Random, vocabulary: Vocabulary) -> Pair:
    """A config of a few documents and one or two patches, mostly for those same documents."""
    tame = Maker(rng, vocabulary, most=6)
    known = [kind for kind in sorted(KINDS.keys() - UNMERGEABLE) if vocabulary.knows((kind,))]
    kinds = [MAIN_KIND, *rng.sample(known, rng.randint(1, 3))]
    config = [tame.document(kind, f"{kind}-1") for kind in kinds]
    wild = Maker(rng, vocabulary, wild=rng.choice([0, 0, 0.03]))
    patches = []
    count = 0
    for number in range(rng.randint(1, 2)):
        chosen = rng.sample(kinds, rng.randint(1, len(kinds)))
        if rng.random() < 0.2:
            chosen.append(rng.choice(known))
        # What a first patch deleted may not be there for a second one to delete.
        there = {} if number else {identify(one).kind: one for one in config}
        documents = [_patch(rng, wild, kind, there.get(kind)) for kind in dict.fromkeys(chosen)]
        count += len(documents)
        patches.append(
            JSON_PATCH if not number and rng.random() < 0.02 else yamltext.dump_all(documents)
        )
    return Pair(config, patches, simple=count == 1 and not wild.wild)


def _patch(
    rng: random.Random, maker: Maker, kind: str, there: dict[str, Any] | None
) -> dict[str, Any]:
    document = maker.document(kind, f"{kind}-{rng.choice([1, 1, 1, 2])}")
    match rng.randrange(12):
        case 0 if kind != MAIN_KIND or rng.random() < 0.1:
            return header(kind, f"{kind}-1") | {MARK: "delete"}
        case 1 | 2 | 3 if there:
            return header(kind, f"{kind}-1") | _deletion(rng, there)
        case 4 if there:
            return _merged(document, _deletion(rng, there))
        case _:
            return document


def _deletion(rng: random.Random, there: dict[str, Any]) -> dict[str, Any]:
    """`$patch: delete` somewhere in what is there, now and then beside it."""
    key = rng.choice([key for key in there if key not in KEPT] or ["up"])
    value = there.get(key)
    if isinstance(value, dict) and value and rng.random() < 0.8:
        return {key: _deletion(rng, value)}
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    if items and rng.random() < 0.8:
        item = rng.choice(items)
        names = sorted(name for name in item if item[name] and name not in UNCOMPARABLE)
        chosen = rng.sample(names, min(1, len(names)))
        return {key: [{name: item[name] for name in chosen} | {MARK: "delete"}]}
    if rng.random() < 0.1:
        key = "missing"
    return {key: {MARK: "delete"}}


def _merged(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    both = {
        key: _merged(left[key], right[key])
        for key in left.keys() & right.keys()
        if isinstance(left[key], dict) and isinstance(right[key], dict)
    }
    return {**left, **right, **both}
