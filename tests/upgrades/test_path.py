"""The order of upgrades, by data and by rules that every path obeys."""

from __future__ import annotations

import random

import pytest

from talops.inventory.support import KUBERNETES, NEWEST_KUBERNETES, NEWEST_RELEASE, WITHDRAWN
from talops.upgrades.path import Hop, Part, Wanted, find_path
from talops.upgrades.versions import KNOWN, Releases, Span, key, minor

T, K = Part.TALOS, Part.KUBERNETES
T12, T13, T14 = "v1.12.11", "v1.13.9", "v1.14.1"


def span(text: str) -> Span:
    low, _, high = text.partition("..")
    return Span(low, high or low)


# What runs (low..high where nodes differ), what is wanted, and the versions of the hops in order.
PATHS = {
    "nothing": (T13, "v1.36.3", T13, "v1.36.3", []),
    "a patch": ("v1.14.0", "v1.36.3", T14, "v1.36.3", [(T, T14)]),
    "one minor": (T13, "v1.36.3", T14, "v1.36.3", [(T, T14)]),
    "Kubernetes alone": (T14, "v1.36.1", T14, "v1.37.1", [(K, "v1.37.1")]),
    "both are free: Talos first": (T13, "v1.35.4", T14, "v1.36.3", [(T, T14), (K, "v1.36.3")]),
    "Kubernetes is too new for the Talos that runs": (
        *(T13, "v1.36.3", T14, "v1.37.0"),
        [(T, T14), (K, "v1.37.0")],
    ),
    "Kubernetes is too old for the wanted Talos": (
        *(T13, "v1.31.4", T14, "v1.32.10"),
        [(K, "v1.32.10"), (T, T14)],
    ),
    "two Talos minors are two hops": ("v1.12.0", "v1.35.4", T14, "v1.35.4", [(T, T13), (T, T14)]),
    "both directions force stops": (
        *("v1.11.0", "v1.29.0", T14, "v1.37.0"),
        [
            *((K, "v1.30.14"), (T, T12), (K, "v1.31.14"), (T, T13)),
            *((K, "v1.32.10"), (K, "v1.33.10"), (T, T14)),
            *((K, "v1.34.9"), (K, "v1.35.9"), (K, "v1.36.4"), (K, "v1.37.0")),
        ],
    ),
    "the matrix is preferred to what the code accepts": (
        *(T13, "v1.32.4", T14, "v1.33.1"),
        [(K, "v1.33.1"), (T, T14)],
    ),
    "an interrupted hop goes on": (f"{T13}..{T14}", "v1.36.3", T14, "v1.36.3", [(T, T14)]),
    "an interrupted first hop of two": (
        *(f"{T12}..{T13}", "v1.35.4", T14, "v1.35.4"),
        [(T, T13), (T, T14)],
    ),
    "a node that is ahead is not pulled back": (
        *("v1.12.6..v1.13.12", "v1.35.4..v1.35.20", T14, "v1.37.0"),
        [(T, "v1.13.12"), (T, T14), (K, "v1.36.4"), (K, "v1.37.0")],
    ),
    "what runs is left even if its pair is not supported": (
        *(T14, "v1.31.4", T14, "v1.33.1"),
        [(K, "v1.32.10"), (K, "v1.33.1")],
    ),
}


@pytest.mark.parametrize("case", PATHS)
def test_the_path(case: str) -> None:
    """Supported hops in an order in which each Talos supports each Kubernetes."""
    talos, kubernetes, to_talos, to_kubernetes, expected = PATHS[case]
    found = find_path(span(talos), span(kubernetes), Wanted(to_talos, to_kubernetes))
    assert not found.refusals
    assert [(hop.part, hop.to) for hop in found.hops] == expected


# What runs, what is wanted, and what the refusal says and tells to change.
REFUSED = {
    "Talos that runs is newer": (
        *(f"{T13}..{T14}", "v1.36.3", T13, "v1.36.3"),
        *("Talos v1.14.1 runs, which is newer than v1.13.9", "set talos_version: v1.14.1"),
    ),
    "somebody else upgraded Kubernetes": (
        *(T14, "v1.36.3..v1.37.0", T14, "v1.36.3"),
        *("Kubernetes v1.37.0 runs, which is newer", "set kubernetes_version: v1.37.0"),
    ),
    "a withdrawn release": (
        *("v1.12.6", "v1.34.0", "v1.13.3", "v1.34.0"),
        *("Talos v1.13.3 must not be used: it panics", "set talos_version: v1.13.9"),
    ),
    "a Talos that talops does not know": (
        *(T14, "v1.36.3", "v1.15.0", "v1.36.3"),
        *("Talos v1.15.0 is not supported", "set talos_version: v1.14.1"),
    ),
    "a pair that does not fit": (
        *(T13, "v1.36.3", T13, "v1.37.0"),
        *("does not support Kubernetes v1.37.0", "a release of 1.31 to 1.36"),
    ),
    "a pre-release is older than its release": (
        *(T14, "v1.36.3", "v1.14.1-rc.0", "v1.36.3"),
        *("Talos v1.14.1 runs, which is newer", "talops rollback NODE"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_say_what_to_change(case: str) -> None:
    """A target that cannot be reached has no hops, and a hint with the key of cluster.yaml."""
    talos, kubernetes, to_talos, to_kubernetes, what, hint = REFUSED[case]
    found = find_path(span(talos), span(kubernetes), Wanted(to_talos, to_kubernetes))
    assert not found.hops
    assert what in found.refusals[0].what
    assert hint in found.refusals[0].hint


def test_a_minor_without_a_known_release_is_refused() -> None:
    """No version is invented."""
    known = Releases(talos={14: T14})
    found = find_path(span(T12), span("v1.35.4"), Wanted(T14, "v1.35.4"), known)
    assert "passes through Talos 1.13, of which talops knows no release" in found.refusals[0].what
    ahead = find_path(span(f"{T12}..v1.13.4"), span("v1.35.4"), Wanted(T14, "v1.35.4"), known)
    assert [hop.to for hop in ahead.hops] == ["v1.13.4", T14]


def test_other_extensions_are_an_upgrade() -> None:
    """Alone they are a hop of their own; with another version they come along."""
    same = find_path(span(T14), span("v1.36.3"), Wanted(T14, "v1.36.3", reimage=True))
    assert same.hops == (Hop(T, T14, T14),)
    assert str(same.hops[0]) == "Talos v1.14.1 with other extensions"
    both = find_path(span(T13), span("v1.36.3"), Wanted(T14, "v1.36.3", reimage=True))
    assert both.hops == (Hop(T, T13, T14),)
    assert str(both.hops[0]) == "Talos v1.13.9 → v1.14.1"


def test_pairs_outside_of_the_matrix_are_named() -> None:
    """The code of Talos 1.14 accepts Kubernetes 1.32, its support matrix does not."""
    found = find_path(span(T13), span("v1.32.4"), Wanted(T14, "v1.32.10"))
    assert found.untested
    assert all("1.32" in pair for pair in found.untested)


def test_every_path_keeps_the_rules() -> None:
    """Adjacent minors, never backwards, never withdrawn, always supported, ends as wanted."""
    chance = random.Random(0)
    found = [_judge(chance) for _ in range(2000)]
    assert found.count(True) > 200
    assert found.count(False) > 200


def _judge(chance: random.Random) -> bool:
    """Whether there is a path between two random pairs of versions."""
    talos, wanted_talos = _two(chance, list(KUBERNETES), NEWEST_RELEASE)
    kubernetes, wanted_kubernetes = _two(chance, list(NEWEST_KUBERNETES), NEWEST_KUBERNETES)
    found = find_path(talos, kubernetes, Wanted(wanted_talos, wanted_kubernetes))
    if found.refusals:
        assert not found.hops
        assert all(each.hint for each in found.refusals)
        fits = KNOWN.supports(wanted_talos, wanted_kubernetes)
        started = KNOWN.supports(talos.low, kubernetes.low)
        ahead = talos.high != talos.low or key(kubernetes.high) > key(wanted_kubernetes)
        refused = wanted_talos in WITHDRAWN or not fits or not started or ahead
        assert refused, "a path exists"
        return False
    now = {T: talos.low, K: kubernetes.low}
    for hop in found.hops:
        assert hop.before == now[hop.part]
        assert key(hop.to) > key(hop.before)
        assert minor(hop.to) - minor(hop.before) in {0, 1}
        assert hop.to not in WITHDRAWN
        now[hop.part] = hop.to
        assert KNOWN.supports(now[T], now[K])
        if key(talos.high) > key(now[T]):
            assert KNOWN.supports(talos.high, now[K])
    assert now == {T: wanted_talos, K: wanted_kubernetes}
    return True


def _two(chance: random.Random, minors: list[int], newest: dict[int, str]) -> tuple[Span, str]:
    """What runs, on some nodes already newer, and what is wanted."""
    low, high, wanted = sorted(chance.choice(minors) for _ in range(3))
    if chance.random() < 0.7:
        high = low
    versions = sorted({f"v1.{low}.0", f"v1.{high}.{chance.randint(0, 3)}"}, key=key)
    target = newest[wanted] if chance.random() < 0.8 else f"v1.{wanted}.3"
    if key(target) < key(versions[-1]):
        target = newest[wanted]
    return Span(versions[0], versions[-1]), target
