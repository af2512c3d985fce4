"""Counters for Prometheus. No label contains a state or a user: /metrics is public."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "LOCK", "UNLOCK"})


class Metrics:
    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0
        self.received = 0
        self.sent = 0
        self.refused_locks = 0
        self.denied = 0
        self.versions = 0

    def count(self, method: str, status: int, seconds: float, sent: int) -> None:
        self._requests[(method if method in _METHODS else "other", status)] += 1
        self._seconds += seconds
        self.sent += sent
        self._buckets[bisect_left(BUCKETS, seconds)] += 1

    def render(self, *, draining: bool) -> str:
        return "\n".join(self._lines(draining=draining)) + "\n"

    def _lines(self, *, draining: bool) -> Iterator[str]:
        yield "# TYPE talops_state_requests_total counter"
        for (method, status), count in sorted(self._requests.items()):
            yield f'talops_state_requests_total{{method="{method}",status="{status}"}} {count}'
        yield from self._histogram()
        for name, value in (
            ("received_bytes_total", self.received),
            ("sent_bytes_total", self.sent),
            ("refused_locks_total", self.refused_locks),
            ("denied_requests_total", self.denied),
            ("written_versions_total", self.versions),
        ):
            yield f"# TYPE talops_state_{name} counter"
            yield f"talops_state_{name} {value}"
        yield "# TYPE talops_state_draining gauge"
        yield f"talops_state_draining {int(draining)}"

    def _histogram(self) -> Iterator[str]:
        yield "# TYPE talops_state_request_seconds histogram"
        total = 0
        for bound, count in zip((*BUCKETS, "+Inf"), self._buckets, strict=True):
            total += count
            yield f'talops_state_request_seconds_bucket{{le="{bound}"}} {total}'
        yield f"talops_state_request_seconds_sum {self._seconds:.6f}"
        yield f"talops_state_request_seconds_count {total}"
