"""Two clusters in one project: each has its own state of layer 01 (row 21)."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.statestore.helpers import lock_document, state_body
from tests.statestore.running import running
from tests.statestore.s3_server import s3

from talops.app.infra import layers as opening
from talops.errors import ConflictError
from talops.inventory.load import load
from talops.redaction import Secret
from talops.render.backend import backend_environment
from talops.render.layers import HYPERVISORS, hypervisors, layers
from talops.site.state.copies import local_backend
from talops.site.state.own_name import move
from talops.statestore.backends.http import HttpSettings
from talops.statestore.backends.locks import HttpLocks
from talops.statestore.backends.s3 import S3Settings
from talops.statestore.backends.s3_locks import S3Locks
from talops.statestore.model import Retention
from talops.statestore.stores import StoreAddress

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.statestore.running import Running

    from talops.inventory.model import Cluster, State

EXAMPLE = Path(__file__).parents[3] / "examples" / "ha"
KINDS = [pytest.param("http", marks=pytest.mark.slow), pytest.param("s3", marks=pytest.mark.slow)]
both = pytest.mark.parametrize("kind", KINDS)
States = HttpLocks | S3Locks


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return load(EXAMPLE).require()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("shared")
    with running(StoreAddress(Secret(f"sqlite:{folder / 'states'}"))) as found:
        yield found


@asynccontextmanager
async def opened(kind: str, project: str, request: pytest.FixtureRequest) -> AsyncIterator[States]:
    """The states of one project, which contains the state of an older talops."""
    if kind == "http":
        address = request.getfixturevalue("server").address
        states: States = HttpLocks(HttpSettings(f"{address}/{project}"))
        yield states
        await states.close()
        return
    with s3() as bucket:
        yield S3Locks(S3Settings(bucket.new_bucket(), "p", (), bucket.options), Retention(9, 9))


def body_of(cluster: Cluster, *more: str) -> bytes:
    """A state of bridges on the hosts of a cluster, and on others."""
    assert cluster.hypervisors
    hosts = [*(node.name for node in cluster.hypervisors.nodes), *more]
    instances = [{"index_key": host, "attributes": {"node_name": host}} for host in hosts]
    resource = {"mode": "managed", "type": "bridge", "name": "this", "instances": instances}
    return json.dumps({**json.loads(state_body(7)), "resources": [resource]}).encode()


def test_every_cluster_has_a_name_of_its_own(cluster: Cluster) -> None:
    """In the state, in the variable of layer 02, and in no path of the generated files."""
    other = replace(cluster, name="other")
    names = {each.state for each in layers(cluster)} & {each.state for each in layers(other)}
    assert not {name for name in names if name.startswith("01-")}
    assert hypervisors(cluster).path == hypervisors(other).path
    remote = replace(other, state=replace_kind(other))
    found = backend_environment(remote, hypervisors(remote), {})
    assert found["TF_HTTP_ADDRESS"].endswith("/01-hypervisors-other")
    assert found["TF_VAR_hypervisors_state_address"] == found["TF_HTTP_ADDRESS"]


def replace_kind(cluster: Cluster) -> State:
    return replace(cluster.state, kind="http", url="https://states.example/homelab")


@both
async def test_the_older_state_is_moved_once(
    kind: str, cluster: Cluster, request: pytest.FixtureRequest
) -> None:
    """Byte for byte; the old one stays, locked, and a second run has nothing to do."""
    said: list[str] = []
    async with opened(kind, "once", request) as states:
        await move(cluster, states, said.append)
        assert said == [], "there is nothing to move"
        body = body_of(cluster)
        await states.write(HYPERVISORS, body)
        await move(cluster, states, said.append)
        assert await states.read(hypervisors(cluster).state) == body
        assert await states.read(HYPERVISORS) == body
        assert await states.acquire(HYPERVISORS, lock_document("old-talops")) is not None
        listed = {info.name: info.was_moved for info in await states.overview() if info.exists}
        assert listed == {HYPERVISORS: True, hypervisors(cluster).state: False}
        newer = json.dumps({**json.loads(body), "serial": 9}).encode()
        await states.write(hypervisors(cluster).state, newer)
        await move(cluster, states, said.append)
        assert await states.read(hypervisors(cluster).state) == newer
    assert len(said) == 1


@both
async def test_another_cluster_does_not_take_it(
    kind: str, cluster: Cluster, request: pytest.FixtureRequest
) -> None:
    """Neither with the same hosts, after it was moved, nor with hosts that are not its own."""
    other = replace(cluster, name="other")
    async with opened(kind, "other", request) as states:
        await states.write(HYPERVISORS, body_of(cluster, "pve9"))
        with pytest.raises(ConflictError, match="not in this inventory: pve9"):
            await move(other, states, print)
        await states.write(HYPERVISORS, body_of(cluster), force=True)
        await move(cluster, states, print)
        with pytest.raises(ConflictError, match="belongs to another cluster"):
            await move(other, states, print)
        assert await states.read(hypervisors(other).state) is None


@both
async def test_a_live_lock_stops_the_move(
    kind: str, cluster: Cluster, request: pytest.FixtureRequest
) -> None:
    """An apply of an older talops finishes first."""
    async with opened(kind, "live", request) as states:
        await states.write(HYPERVISORS, body_of(cluster))
        await states.acquire(HYPERVISORS, lock_document("apply"))
        with pytest.raises(ConflictError, match="locked by alice@laptop"):
            await move(cluster, states, print)
        assert await states.read(hypervisors(cluster).state) is None


@both
async def test_an_interrupted_move_is_continued(
    kind: str, cluster: Cluster, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the lock and the copy."""
    async with opened(kind, "killed", request) as states:
        await states.write(HYPERVISORS, body_of(cluster))

        async def killed(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(states, "write", killed)
            with pytest.raises(KeyboardInterrupt):
                await move(cluster, states, print)
        await move(cluster, states, print)
        assert await states.read(hypervisors(cluster).state) == body_of(cluster)


def test_copies_of_local_states_follow(tmp_path: Path, cluster: Cluster) -> None:
    """The file of a local state stays where it is; its copies get the new name."""
    old = tmp_path / ".talops" / "state" / HYPERVISORS
    old.mkdir(parents=True)
    (old / "copy").write_text("x")
    local_backend(tmp_path, cluster)
    local_backend(tmp_path, cluster)
    assert (old.parent / hypervisors(cluster).state / "copy").read_text() == "x"
    assert not old.exists()


@pytest.mark.parametrize("offline", [True, False])
async def test_commands_on_files_need_no_server(
    monkeypatch: pytest.MonkeyPatch, offline: bool
) -> None:
    """`infra validate` and `infra fmt` work without it; all others check the name first."""
    asked: list[str] = []

    async def claimed(site: Any, _: object) -> None:
        asked.append(site.cluster.name)

    async def nothing(*_: object) -> dict[str, str]:
        return {}

    monkeypatch.setattr(opening, "claim", claimed)
    for name in ("read_vault", "find_engine"):
        monkeypatch.setattr(opening, name, nothing)
    monkeypatch.setattr(opening, "choose", lambda *_: [])
    await opening.open_layers(EXAMPLE, {}, lambda _: None, offline=offline)
    assert asked == ([] if offline else ["ha"])
