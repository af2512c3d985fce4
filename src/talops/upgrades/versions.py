"""Versions that can be compared, and which ones a cluster may run. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.inventory import support
from talops.inventory.fields import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RELEASE = re.compile(r"v1\.\d+\.\d+")
Key = tuple[int, int, int, int, str, int]


def key(version: str) -> Key:
    """For comparisons; a pre-release is older than its release."""
    found = VERSION.fullmatch(version)
    if not found:
        raise ValueError(version)
    name, _, number = (found[4] or "").removeprefix("-").partition(".")
    return (*support.parts(version), 0 if name else 1, name, int(number or 0))


def minor(version: str) -> int:
    return support.minor(version)


def newest(versions: Iterable[str]) -> str:
    return max(versions, key=key)


def oldest(versions: Iterable[str]) -> str:
    return min(versions, key=key)


def newest_release(versions: Iterable[str], of: int) -> str | None:
    """The newest release of this minor, without pre-releases and development builds."""
    found = [each for each in versions if RELEASE.fullmatch(each) and minor(each) == of]
    return newest(found) if found else None


@dataclass(frozen=True)
class Span:
    """The oldest and the newest version that any part of the cluster runs."""

    low: str
    high: str

    @classmethod
    def of(cls, versions: Iterable[str]) -> Span:
        listed = list(versions)
        return cls(oldest(listed), newest(listed))


@dataclass(frozen=True)
class Releases:
    """What is known about releases; all by minor version.

    `kubernetes_of`: Talos minor → (oldest, newest) Kubernetes minor. `tested`: the oldest one of
    its support matrix, where its code accepts older ones.
    """

    talos: Mapping[int, str] = field(default_factory=lambda: support.NEWEST_RELEASE)
    kubernetes: Mapping[int, str] = field(default_factory=lambda: support.NEWEST_KUBERNETES)
    withdrawn: Mapping[str, str] = field(default_factory=lambda: support.WITHDRAWN)
    kubernetes_of: Mapping[int, tuple[int, int]] = field(default_factory=lambda: support.KUBERNETES)
    tested: Mapping[int, int] = field(default_factory=lambda: support.OLDEST_TESTED)

    def supports(self, talos: str, kubernetes: str) -> bool:
        oldest_minor, newest_minor = self.kubernetes_of.get(minor(talos), (1, 0))
        return oldest_minor <= minor(kubernetes) <= newest_minor

    def tests(self, talos: str, kubernetes: str) -> bool:
        return minor(kubernetes) >= self.tested.get(minor(talos), 0)


KNOWN = Releases()
