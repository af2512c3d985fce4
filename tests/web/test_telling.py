"""Metrics for Prometheus, and messages when the state of a cluster changes."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.web.recorded import record
from tests.web.scripted import Script, broken, healthy, looked, visiting

from talops.errors import TalopsError, UnreachableError
from talops.web.documents.metrics import METRICS, metrics
from talops.web.serving.views import VIEWS
from talops.web.telling import Debounce, Hook, Messenger, hooks_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Example

    from talops.web.watching.site import WatchedSite

NOW = datetime(2026, 11, 19, 8, 0, tzinfo=UTC)
# The text format: https://prometheus.io/docs/instrumenting/exposition_formats/
SAMPLE = re.compile(
    r'([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (-?[0-9.]+(?:e[+-]?\d+)?)'
)


def script(example: Example, root: Path) -> Script:
    cluster = example("ha")
    return Script(cluster, root, healthy(cluster, datetime.now(UTC)))


def samples(text: str) -> dict[str, float]:
    """Every line is a comment or a sample, and samples of a metric are together."""
    found: dict[str, float] = {}
    order = []
    for line in text.splitlines():
        if not line.startswith("# "):
            match = SAMPLE.fullmatch(line)
            assert match, line
            found[f"{match[1]}{{{match[2]}}}"] = float(match[3])
            order.append(match[1])
    assert [name for name in METRICS if name in order] == list(dict.fromkeys(order))
    assert len(order) == len(found), "each sample once"
    return found


async def test_metrics_of_a_healthy_cluster(example: Example, tmp_path: Path) -> None:
    """Health, ages, versions, days, sizes and runs."""
    record(tmp_path, "20261119-07-up-a", ["cp-1"])
    async with visiting(script(example, tmp_path)) as client:
        answer = await client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = samples(answer.text)
    assert found['talops_findings{cluster="ha",level="bad"}'] == 0
    assert found['talops_up{cluster="ha",look="status"}'] == 1
    assert found['talops_drift_differences{cluster="ha",layer="talos"}'] == 0
    assert found['talops_node_ready{cluster="ha",node="ha-w-1"}'] == 1
    assert found['talops_etcd_leader{cluster="ha",node="ha-cp-1"}'] == 1
    assert found['talops_run_success{cluster="ha",command="up"}'] == 1
    days = found['talops_certificate_days_left{cluster="ha",name="kubeconfig",where="kubeconfig"}']
    assert 299 < days <= 300


async def test_what_is_not_known_has_no_sample(example: Example, tmp_path: Path) -> None:
    """A silent node is not "not ready", and a layer that was not read has not zero differences."""
    told = script(example, tmp_path)
    told.answers = broken(told.cluster, NOW, 'odd "name"\\\n\x1b')
    site = await looked(told.site())
    told.answers["status"] = UnreachableError("no answer")
    await site.observer.look("status")
    text = metrics([site], datetime.now(UTC))
    found = samples(text)
    assert found['talops_up{cluster="ha",look="status"}'] == 0
    assert not any("ha-w-3" in name and "ready" in name for name in found)
    assert not any('layer="proxmox"' in name for name in found)
    assert "\x1b" not in text


def test_every_metric_is_documented() -> None:
    """In docs/web.md."""
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "web.md").read_text(encoding="utf-8")
    assert [name for name in METRICS if f"`{name}`" not in page] == []


@pytest.mark.parametrize(
    ("levels", "told"),
    [
        ("gggg", ""),
        ("gbbb", "b"),
        ("gbgbgb", ""),  # it flaps: no state lasts
        ("bbbb", "b"),  # it was so when the server was started
        ("bbbgggg", "bg"),
        ("nnnn", ""),
        ("bbbnnnn", "bn"),
        ("bbbuuuu", "bu"),
        ("bbbgbbb", "b"),  # a short recovery is not told, nor is what it ends with
    ],
)
def test_only_a_state_that_lasts_is_told(levels: str, told: str) -> None:
    """Each letter is a look after a minute; a state must last for two."""
    words = {"g": "good", "n": "notice", "b": "bad", "u": "unknown"}
    state = Debounce(120.0)
    found = [
        letter
        for minute, letter in enumerate(levels)
        if state.settled(words[letter], 60.0 * minute)
    ]
    assert "".join(found) == told


class Receiver:
    """What arrived, by path; `answers` are the status codes to come."""

    def __init__(self) -> None:
        self.got: list[tuple[str, httpx.Request]] = []
        self.answers: list[int] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.got.append((request.url.path, request))
        return httpx.Response(self.answers.pop(0) if self.answers else 200)


HOOKS = "# chat\nslack=https://chat.example/s3cret\nalertmanager=https://am.example/api/v2/alerts\n"
HOOKS += "\nntfy=https://ntfy.example/topic\n"


@pytest.fixture
def hooks(tmp_path: Path) -> tuple[Hook, ...]:
    path = tmp_path / "webhooks"
    path.touch(0o600)
    path.write_text(HOOKS)
    return hooks_in(path)


def overview(site: WatchedSite) -> Any:
    return VIEWS["overview"].make(site, {}, datetime.now(UTC))


async def test_messages(example: Example, tmp_path: Path, hooks: tuple[Hook, ...]) -> None:
    """Each receiver gets its own form, when it begins and when it ends; nothing in between."""
    told, receiver, clock = script(example, tmp_path), Receiver(), [0.0]
    site = told.site()
    messenger = Messenger(
        {"ha": site},
        hooks,
        overview,
        lambda _: None,
        delay=120.0,
        clock=lambda: clock[0],
        transport=httpx.MockTransport(receiver),
    )
    await messenger.check()
    assert receiver.got == [], "before the first look nothing is known"
    told.answers = broken(told.cluster, NOW, "<!channel> & co")
    await looked(site)
    for minute in range(4):
        clock[0] = 60.0 * minute
        await messenger.check()
    paths = [path for path, _ in receiver.got]
    assert paths == ["/s3cret", "/api/v2/alerts", "/topic", "/api/v2/alerts"]
    slack, alerts, ntfy, _ = (request.content for _, request in receiver.got)
    assert "&lt;!channel&gt; &amp; co" in json.loads(slack)["text"]
    assert "endsAt" not in json.loads(alerts)[0]
    assert json.loads(alerts)[0]["labels"] == {"alertname": "TalopsCluster", "cluster": "ha"}
    assert ntfy.startswith(b"cluster ha: 1 problem to solve\n")
    assert receiver.got[2][1].headers["priority"] == "high"
    receiver.got.clear()
    told.answers = healthy(told.cluster, datetime.now(UTC))
    await looked(site)
    for minute in range(5, 10):
        clock[0] = 60.0 * minute
        await messenger.check()
    assert [path for path, _ in receiver.got] == ["/s3cret", "/api/v2/alerts", "/topic"]
    ended = json.loads(receiver.got[1][1].content)[0]["endsAt"]
    assert datetime.now(UTC) - datetime.fromisoformat(ended) < timedelta(hours=1)


async def test_a_receiver_that_refuses(
    example: Example, tmp_path: Path, hooks: tuple[Hook, ...]
) -> None:
    """It is tried three times, and said without its address, which is a secret."""
    receiver, said = Receiver(), list[str]()
    receiver.answers = [500, 500, 500, 200, 503, 200]
    told = script(example, tmp_path)
    told.answers = broken(told.cluster, NOW)
    site = await looked(told.site())
    transport = httpx.MockTransport(receiver)
    messenger = Messenger({"ha": site}, hooks, overview, said.append, 0.0, transport=transport)
    await messenger.check()
    assert said == ["cannot send to the slack webhook: HTTP 500"]
    assert len(receiver.got) == 6
    assert "s3cret" not in repr(hooks)


@pytest.mark.parametrize("line", ["teams=https://x", "slack=file:///etc/passwd", "https://x"])
def test_wrong_webhooks(line: str, tmp_path: Path) -> None:
    """The error names the line, and not what is in it."""
    path = tmp_path / "webhooks"
    path.touch(0o600)
    path.write_text(f"# one\n{line}\n")
    with pytest.raises(TalopsError, match="KIND=URL") as caught:
        hooks_in(path)
    assert caught.value.where == f"{path}:2"
    path.chmod(0o644)
    with pytest.raises(TalopsError, match="other users"):
        hooks_in(path)
