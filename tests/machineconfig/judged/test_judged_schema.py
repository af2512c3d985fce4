"""The fields that talops knows of each kind of document are those that the real library knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.machineconfig.judged.vocabulary import header
from tests.oracle.asking import RefusedError
from tests.oracle.judges import JUDGES

from talops.machineconfig import yamltext
from talops.machineconfig.contract import Contract
from talops.machineconfig.patches.identity import MAIN_KIND
from talops.machineconfig.schema.cluster import MAIN
from talops.machineconfig.schema.documents import KINDS, KINDS_OF_1_14, SINCE
from talops.machineconfig.schema.types import (
    ListOf,
    Lists,
    MapOf,
    Scalar,
    Special,
    Struct,
    Type,
    ZeroValued,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.oracle.asking import Oracle

Shape = dict[str, Any]
SCHEMA = {MAIN_KIND: MAIN, **KINDS, **KINDS_OF_1_14}
# Which library knows the newest fields; the older one must know all others.
LIBRARIES = sorted({JUDGES[contract] for contract in Contract})
# Go types that read a text or a number themselves, or that are one for the author of a config.
ONE_VALUE = {
    *("v1alpha1.Endpoint", "v1alpha1.InstallDiskSizeMatcher", "v1alpha1.Base64Bytes"),
    *("meta.URL", "network.PortRange", "x509.PEMEncodedCertificateAndKey"),
}


pytestmark = pytest.mark.slow


def test_every_kind_is_known(oracle: Callable[[str], Oracle]) -> None:
    """A kind in our schema is one that some library has."""
    unknown = set(SCHEMA)
    for library in LIBRARIES:
        unknown -= shapes(oracle(library)).keys()
    assert unknown == set()


@pytest.mark.parametrize("kind", sorted(SCHEMA))
def test_fields(kind: str, oracle: Callable[[str], Oracle]) -> None:
    """No field is missing, none is made up, each is of the right kind and merged by its rule."""
    found = [shape for library in LIBRARIES if (shape := shapes(oracle(library)).get(kind))]
    assert sorted(set(problems(SCHEMA[kind], found, kind))) == []


def test_since_when(oracle: Callable[[str], Oracle]) -> None:
    """The kinds and fields of 1.14 are known from there on; all others are older."""
    older, newer = (shapes(oracle(library)) for library in LIBRARIES)
    kinds = set(newer) - set(older)
    fields = {
        path
        for kind in older
        for path in _paths(newer[kind], kind) - _paths(older[kind], kind)
        if path.rpartition(".")[0] in {kind} | _paths(older[kind], kind)
    }
    assert kinds | fields == {place for place, since in SINCE.items() if since is Contract.V1_14}


def _paths(shape: Shape, path: str) -> set[str]:
    """Every field, those of a list's items without a number."""
    below = [(f"{path}.{name}", inner) for name, inner in shape.get("fields", {}).items()]
    inner = _paths(shape["item"], path) if isinstance(shape.get("item"), dict) else set()
    return inner.union({place for place, _ in below}, *(_paths(one, at) for at, one in below))


def shapes(oracle: Oracle) -> dict[str, Shape]:
    known = {}
    for kind in SCHEMA:
        try:
            known[kind] = oracle.ask("shape", config=yamltext.dump(header(kind)))
        except RefusedError:
            continue
    return known


def problems(ours: Type, theirs: list[Shape], path: str) -> Iterator[str]:
    """`theirs`: of each library that knows the place, the newest last."""
    shape = theirs[-1]
    if isinstance(ours, Struct) and shape["kind"] == "struct":
        yield from _fields(ours, theirs, path)
    elif isinstance(ours, MapOf) and shape["kind"] == "map":
        yield from problems(ours.value, [one["item"] for one in theirs], f"{path}.*")
    elif isinstance(ours, ListOf) and shape["kind"] == "list":
        yield from _rule(ours, shape, path)
        yield from problems(ours.item, [one["item"] for one in theirs], f"{path}[]")
    elif not _fits(ours, shape):
        yield f"{path}: {ours} for {shape['kind']} {shape['type']}"


def _fields(ours: Struct, theirs: list[Shape], path: str) -> Iterator[str]:
    if ours.sealed:
        return
    known = {name for one in theirs for name in one.get("fields", {})}
    yield from (f"{path}.{name} is missing" for name in known - ours.fields.keys())
    yield from (f"{path}.{name} is made up" for name in ours.fields.keys() - known)
    for name in known & ours.fields.keys():
        inner = [one["fields"][name] for one in theirs if name in one.get("fields", {})]
        yield from problems(ours.fields[name], inner, f"{path}.{name}")


def _rule(ours: ListOf, shape: Shape, path: str) -> Iterator[str]:
    if (ours.rule is Lists.REPLACE) != shape.get("replace", False):
        yield f"{path}: is it replaced?"
    if bool(ours.key) != shape.get("merges", False):
        yield f"{path}: are its items matched?"


def _fits(ours: Type, shape: Shape) -> bool:
    own_type = "." in shape["type"]
    count = shape.get("pointer", False)
    rules = {
        "free": ours is (Special.NEWEST if shape.get("replace") else Special.FREE),
        "text": ours is Scalar.TEXT,
        "flag": ours in (Scalar.FLAG, Scalar.SWITCH),
        "number": ours is (Scalar.COUNT if count else Scalar.NUMBER)
        or (own_type and not count and _is_one_value(ours)),
        "own": _is_one_value(ours) or isinstance(ours, ListOf),
        "map": ours is Special.ARGS and shape.get("merges", False),
    }
    one_value = _is_one_value(ours) or ours is Special.PAIR
    return bool(rules.get(shape["kind"], shape["type"] in ONE_VALUE and one_value))


def _is_one_value(ours: Type) -> bool:
    return isinstance(ours, Scalar | ZeroValued)
