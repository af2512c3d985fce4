"""The status of a cluster: what follows from what was read, and how it is shown."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from talops.app.status import look
from talops.app.status.model import Comparison, Seen, judge
from talops.app.status.record import read_comparison, write_comparison
from talops.errors import TalopsError
from talops.pipeline.checks import CheckResult, failed, passed, unproven, warning
from talops.pipeline.history import PastRun
from talops.pipeline.lock import Holder
from talops.pipeline.rundir import RunInfo
from talops.site.run_lock import document, lock_name
from talops.site.site import ClosedSite
from talops.statestore.backends.interface import StateInfo
from talops.views.status import Level, Status, status_lines
from talops.views.words import ago

if TYPE_CHECKING:
    from tests.examples import Example

NOW = datetime(2026, 11, 19, 8, 0, tzinfo=UTC)
WANTED = {"talos": "v1.14.1", "kubernetes": "v1.37.0"}
NAMES = ("cp-1", "cp-2", "w-1")
UP = PastRun(
    Path("x"),
    RunInfo("20261119-x", "up", "demo", (NOW - timedelta(hours=2)).isoformat(), {}, {}),
    "done",
    72.0,
    (NOW - timedelta(hours=2)).isoformat(),
)
GOOD = Seen(
    (CheckResult("etcd", (passed("3 members"),)),),
    dict.fromkeys(NAMES, "v1.14.1"),
    dict.fromkeys(NAMES, "v1.37.0"),
    {"kubeconfig": NOW + timedelta(days=300), "API server": NOW + timedelta(days=360)},
    {},
    compared=Comparison(NOW - timedelta(hours=2), "up", differs=False),
    last=UP,
)


def status(seen: Seen) -> Status:
    return judge("demo", WANTED, seen, NOW)


def row(seen: Seen, name: str) -> tuple[Level, str, str]:
    found = next(each for each in status(seen).rows if each.name == name)
    return found.level, found.text, found.hint


def test_a_good_morning() -> None:
    """Nothing to do, and everything could be read."""
    found = status(GOOD)
    assert (found.healthy, found.complete, found.next_command) == (True, True, "")
    assert row(GOOD, "versions") == (
        Level.GOOD,
        "Talos v1.14.1 (3 of 3) · Kubernetes v1.37.0 (3 of 3)",
        "",
    )
    assert row(GOOD, "backups") == (Level.NOTICE, "none known", "")


@pytest.mark.parametrize(
    ("change", "name", "level", "text", "hint"),
    [
        (
            {"checks": (CheckResult("etcd", (failed("no leader", hint="talops x"),)),)},
            *("health", Level.BAD, "0 of 1 check passed", "talops x"),
        ),
        (
            {"checks": (CheckResult("etcd", (unproven("no answer"),)),)},
            *("health", Level.UNKNOWN, "0 of 1 check passed", "talops verify"),
        ),
        (
            {"checks": (CheckResult("etcd", (warning("large", hint="talops y"),)),)},
            *("health", Level.NOTICE, "1 of 1 check passed", "talops y"),
        ),
        (
            {"talos": {**GOOD.talos, "w-1": "v1.13.9"}},
            *("versions", Level.NOTICE),
            *("Talos v1.14.1 (2 of 3) · Kubernetes v1.37.0 (3 of 3)", "talops plan"),
        ),
        (
            {"talos": {**GOOD.talos, "w-1": "v1.13.9"}, "left": frozenset({"Talos"})},
            *("versions", Level.NOTICE),
            *("Talos v1.14.1 (2 of 3) · Kubernetes v1.37.0 (3 of 3)", ""),
        ),
        (
            {"kubernetes": {}, "unread": {"kubernetes": "refused"}},
            *("versions", Level.UNKNOWN),
            *("Talos v1.14.1 (3 of 3) · Kubernetes unknown", "talops verify"),
        ),
        (
            {"compared": None},
            "drift",
            Level.NOTICE,
            "not compared from this directory",
            "talops drift",
        ),
        (
            {"compared": Comparison(NOW - timedelta(days=9), "drift", differs=False)},
            *("drift", Level.NOTICE),
            *("compared 9 days ago (drift): no differences then", "talops drift"),
        ),
        (
            {"compared": Comparison(NOW, "plan", differs=True)},
            *("drift", Level.NOTICE, "compared just now (plan): differences", "talops plan"),
        ),
        (
            {"certificates": {"kubeconfig": NOW + timedelta(days=12)}},
            *("certificates", Level.NOTICE, "kubeconfig 12 days", "talops verify"),
        ),
        (
            {"certificates": {"kubeconfig": NOW - timedelta(days=1)}},
            *("certificates", Level.BAD, "kubeconfig expired", "talops verify"),
        ),
        (
            {"marks": {"w-1": "Talos v1.14.1 (drained)"}},
            *("in progress", Level.NOTICE, "w-1: Talos v1.14.1 (drained)", "talops up"),
        ),
        (
            {"cordoned": ("w-1",)},
            *("in progress", Level.NOTICE),
            *("cordoned, not by talops: w-1", "kubectl uncordon w-1"),
        ),
        (
            {"pause": "paused by me"},
            *("in progress", Level.NOTICE, "paused by me", "talops resume"),
        ),
        (
            {"marks": None, "unread": {"kubernetes": "refused"}},
            *("in progress", Level.UNKNOWN, "refused", ""),
        ),
        (
            {"last": replace(UP, status="killed", seconds=None)},
            *("last run", Level.NOTICE, "up, killed 2 hours ago", "talops runs log"),
        ),
    ],
)
def test_rows(change: dict[str, object], name: str, level: Level, text: str, hint: str) -> None:
    """Each says what is wrong and the next command; not to know is not good."""
    assert row(replace(GOOD, **change), name) == (level, text, hint)  # type: ignore[arg-type]  # keyword names are fixed above


def test_the_worst_comes_first() -> None:
    """A failure decides the next command, whatever else differs."""
    broken = (CheckResult("etcd", (failed("no leader", hint="talops x"),)),)
    assert status(replace(GOOD, checks=broken, pause="paused")).next_command == "talops x"


def test_one_small_screen() -> None:
    """80 columns and 24 lines, also if much is wrong."""
    broken = tuple(
        CheckResult(f"check-{n}", (failed("x" * 200, where=f"w-{n}"),)) for n in range(30)
    )
    marks = {f"w-{n}": "Talos v1.14.1 (drained)" for n in range(3)}
    lines = [text for text, _ in status_lines(status(replace(GOOD, checks=broken, marks=marks)))]
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5, "just now"), (60, "1 minute ago"), (7200, "2 hours ago"), (86400 * 2, "2 days ago")],
)
def test_ago(seconds: int, text: str) -> None:
    """In the largest whole unit."""
    assert ago(NOW - timedelta(seconds=seconds), NOW) == text


def test_the_last_comparison_is_remembered(tmp_path: Path) -> None:
    """A record that is not readable is only an unknown age."""
    assert read_comparison(tmp_path) is None
    write_comparison(tmp_path, differs=True, now=NOW)
    assert read_comparison(tmp_path) == Comparison(NOW, "drift", differs=True)
    (tmp_path / ".talops/drift.json").write_text("{}")
    assert read_comparison(tmp_path) is None


async def test_a_run_on_another_machine(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock beside shared states says who holds it; one that cannot be read is said."""
    site = ClosedSite(example("ha"), tmp_path, {}, {})
    assert site.cluster.state.kind != "local"
    holder = Holder.myself("20261119-x", "up", tmp_path)
    answers: list[Any] = [
        [StateInfo("ha.other", lock={"ID": "x"}), StateInfo(lock_name("ha"))],
        [StateInfo(lock_name("ha"), lock=document(holder))],
        TalopsError("no answer"),
    ]

    class Backend:
        async def overview(self) -> Any:
            answer = answers.pop(0)
            if isinstance(answer, TalopsError):
                raise answer
            return answer

        async def close(self) -> None:
            return

    monkeypatch.setattr(look, "backend_of", lambda _: Backend())
    assert await look.in_progress(site) == ""
    assert (await look.in_progress(site)).startswith("talops up by ")
    assert "cannot be read: no answer" in await look.in_progress(site)
