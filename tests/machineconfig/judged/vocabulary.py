"""The words that the real Talos library can read, for every place of every document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.oracle.asking import RefusedError

from talops.machineconfig.patches.identity import MAIN_KIND
from talops.machineconfig.schema.documents import NAMED
from talops.machineconfig.schema.types import Scalar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.oracle.asking import Oracle

Place = tuple[str, ...]
# Tried in turn wherever a text stands; those that Talos can read are used there.
TEXTS = (
    *("some-text", "other", "10.1.0.0/16", "10.2.3.4/32", "10.1.2.3", "fd00::1", "[fd00::1]:80"),
    *("https://a.example/path", "https://b.example:8443", "udp://10.0.0.1:514", "5m", "1h30m"),
    *("10.0.0.1:51820", "02:00:00:00:00:01", "disk.size > 1u", "link.mtu == 1u", "1.0", "0s", "0"),
    *("5GiB", "10GB", "80%", "luks2", "xfs", "ext4", "vfat", "none", "stable", "off", "mac"),
    *("accept", "block", "tcp", "udp", "icmp", "unicast", "blackhole", "main", "balance-rr"),
    *("802.3ad", "layer2", "layer3+4", "slow", "fast", "bandwidth", "always", "all", "any"),
    *("active", "802.1q", "802.1ad", "on", "better", "failure", "partition", "disk", "directory"),
    *("raid1", "raid5", "linear", "Do53", "DoT", "DoH", "thin", "zfs"),
    *("magic", "broadcast", "0o644", "0x1f", "80-90", "YWJj", "ZGVm", ">= 10GB", "memory > 1.0"),
)
NUMBERS = (1, 7, 100)
WORDS = 4


@dataclass
class Vocabulary:
    """Which words Talos can read at which place of which document."""

    oracle: Oracle
    known: dict[Place, list[Any]] = field(default_factory=dict)
    places: dict[Place, bool] = field(default_factory=dict)

    def knows(self, path: Place) -> bool:
        """Whether this version of Talos has the kind, or the field in it, at all."""
        if path not in self.places:
            self.places[path] = self._reads(path, {} if len(path) == 1 else None)
        return self.places[path]

    def words(self, path: Place, scalar: Scalar) -> list[Any]:
        if path not in self.known:
            self.known[path] = list(self._readable(path, scalar))
            assert self.known[path], f"no word fits {'.'.join(path)}"
        return self.known[path]

    def _readable(self, path: Place, scalar: Scalar) -> Iterable[Any]:
        candidates: dict[Scalar, tuple[Any, ...]] = {
            Scalar.FLAG: (True, False),
            Scalar.SWITCH: (True, False),
            Scalar.NUMBER: (*NUMBERS, 0),
            Scalar.COUNT: (*NUMBERS, 0),
            Scalar.TEXT: ("", *TEXTS),
            Scalar.ANY: ("", 0, 3, *TEXTS),
            Scalar.LAST: ("", *TEXTS),
            Scalar.BYTES: ("", *TEXTS),
            Scalar.SIZE: (0, *TEXTS),
        }
        found = 0
        for word in candidates[scalar]:
            if found < WORDS and self._reads(path, word):
                found += 1
                yield word

    def _reads(self, path: Place, word: Any) -> bool:
        inner: Any = word
        for part in reversed(path[1:]):
            inner = [inner] if part == "[]" else {"a" if part == "*" else part: inner}
        try:
            self.oracle.normalize([header(path[0]) | inner])
        except RefusedError:
            return False
        return True


def header(kind: str, name: str = "name-1") -> dict[str, Any]:
    if kind == MAIN_KIND:
        return {"version": "v1alpha1", "machine": {}}
    return {"apiVersion": "v1alpha1", "kind": kind} | ({"name": name} if kind in NAMED else {})
