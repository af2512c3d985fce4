"""Our strategic merge and the real library's patcher: the same documents, the same refusals."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.machineconfig.judged.random_patches import Pair, random_pair
from tests.machineconfig.judged.vocabulary import Vocabulary
from tests.oracle.asking import BrokeDownError, RefusedError
from tests.oracle.judges import differences

from talops.errors import TalopsError
from talops.machineconfig import yamltext
from talops.machineconfig.contract import Contract
from talops.machineconfig.patches.reading import apply_patches, parse_patch

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.oracle.asking import Oracle

CASES = sorted((Path(__file__).parents[1] / "merge_cases").glob("*.yaml"))
PAIRS = 500
PARTS = [*(("1.13", part) for part in range(4)), *(("1.14", part) for part in range(2))]
# Talos 1.14 ignores the deletion of a missing document; talops reports it.
STRICTER = {"1.13": "never", "1.14": "patch delete: document"}
# What the library says, what talops says.
REASONS = {
    "unknown keys found": "unknown keys found",
    "not registered": "not registered",
    "JSON6902 patches": "JSON 6902 patches",
    "merge type mismatch": "cannot merge",
    "lookup failed": "does not exist",
    "nothing to delete": "does not exist",
    "missing apiVersion": "can't delete the root",
    "no key:val found": "the item to delete is not specified",
    "cannot delete an inner key": "cannot delete an inner key",
    "cannot construct": "expected",
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def vocabularies(oracle: Callable[[str], Oracle]) -> Callable[[str], Vocabulary]:
    """What each version of the library can read, found out as it is asked for."""
    return cache(lambda library: Vocabulary(oracle(library)))


# Either has what came of it, or why nothing did.
Outcome = tuple[list[Any] | None, str]


def by_talops(pair: Pair, contract: Contract) -> Outcome:
    try:
        patches = [parse_patch(text, where=f"patch {n}") for n, text in enumerate(pair.patches)]
        return apply_patches(pair.config, patches, contract), ""
    except TalopsError as error:
        return None, error.what


def by_talos(pair: Pair, judge: Oracle) -> Outcome:
    try:
        return judge.patch(pair.config, pair.patches), ""
    except RefusedError as error:
        return None, str(error)


def same_reason(theirs: str, ours: str) -> bool:
    return any(
        their_words in theirs and our_words in ours for their_words, our_words in REASONS.items()
    )


@pytest.mark.parametrize(("library", "part"), PARTS)
def test_random_pairs(
    rng: random.Random, library: str, part: int, vocabularies: Callable[[str], Vocabulary]
) -> None:
    """Random configs and patches: merged alike, or refused alike and for the same reason."""
    vocabulary = vocabularies(library)
    judge = vocabulary.oracle
    merged, refused, broken = 0, 0, 0
    for _ in range(PAIRS):
        pair = random_pair(rng, vocabulary)
        try:
            theirs, their_reason = by_talos(pair, judge)
        except BrokeDownError:  # no answer: the library cannot write some of what it reads
            broken += 1
            continue
        ours, our_reason = by_talops(pair, Contract(library))
        if not their_reason and STRICTER[library] in our_reason:
            continue
        assert bool(their_reason) == bool(our_reason), f"{their_reason or our_reason}\n{pair}"
        if theirs is None or ours is None:
            refused += 1
            assert not pair.simple or same_reason(their_reason, our_reason), str(pair)
        else:
            merged += 1
            assert differences(theirs, judge.normalize(ours)) == {}, str(pair)
    assert merged > PAIRS // 3
    assert refused > PAIRS // 20
    assert broken < PAIRS // 50


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_cases(path: Path, oracle: Callable[[str], Oracle]) -> None:
    """Each written-down rule of our merge is one of the library's."""
    case = yamltext.load(path.read_text(encoding="utf-8"), where=path.name)
    judge = oracle("1.13")
    request = {"config": case["base"], "patches": case["patches"]}
    if "error" in case:
        with pytest.raises(RefusedError):
            judge.ask("patch", **request)
    else:
        expected = judge.ask("normalize", config=case["expect"])
        assert differences(judge.ask("patch", **request), expected) == {}
