"""The states of an inventory, with the same promises from files, a server and a bucket."""

from __future__ import annotations

import asyncio
import fcntl
import json
import multiprocessing
import sys
import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.statestore.helpers import lock_document, state_body

from talops.errors import ConflictError, TalopsError, UnreachableError
from talops.statestore.backends import copies
from talops.statestore.backends.contents import compare, contents_of
from talops.statestore.backends.http import HttpBackend, HttpSettings
from talops.statestore.backends.local import LocalBackend
from talops.statestore.backends.moving import migrate
from talops.statestore.backends.s3 import S3Backend, S3Settings
from talops.statestore.model import Retention

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.statestore.running import Running
    from tests.statestore.s3_server import S3Server

    from talops.statestore.backends.interface import StateBackend

ONE, TWO = "01-hypervisors", "02-platforms-home"
NAMES = (ONE, TWO)
KEEP = Retention(count=5, days=30)
# A local file is held by a process, which has a test of its own.
BACKENDS = ["local", "http", pytest.param("s3", marks=pytest.mark.slow)]


def local_at(root: Path, keep: Retention = KEEP) -> LocalBackend:
    files = {name: root / name / "terraform.tfstate" for name in NAMES}
    return LocalBackend(files, root / "kept", keep)


@pytest.fixture(params=BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StateBackend]:
    if request.param == "local":
        yield local_at(tmp_path)
    elif request.param == "s3":
        bucket: S3Server = request.getfixturevalue("s3_server")
        yield S3Backend(S3Settings(bucket.new_bucket(), "home", NAMES, bucket.options), KEEP)
    else:
        server: Running = request.getfixturevalue("server_over")("sqlite")
        opened = HttpBackend(HttpSettings(f"{server.address}/{uuid.uuid4().hex}", NAMES))
        yield opened
        await opened.close()


HOLDER = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""


async def hold(backend: StateBackend, state: str) -> None:
    """A lock as the tools leave it when their machine dies."""
    document = json.dumps(lock_document("gone")).encode()
    if isinstance(backend, LocalBackend):
        path = backend._files[state]
        await asyncio.to_thread(
            path.with_name(".terraform.tfstate.lock.info").write_bytes, document
        )
    elif isinstance(backend, S3Backend):
        await backend._bucket.put(f"{state}.tfstate.tflock", document)
    else:
        assert isinstance(backend, HttpBackend)
        await backend._ask("LOCK", backend._state(state), document)


async def test_nothing_is_there_at_first(backend: StateBackend) -> None:
    """The inventory's states are listed before they exist."""
    assert [(i.name, i.exists) for i in await backend.overview()] == [(ONE, False), (TWO, False)]
    assert await backend.read(ONE) is None


async def test_write_versions_and_rollback(backend: StateBackend) -> None:
    """Every write keeps what was there before, and any version comes back byte for byte."""
    for serial in (1, 2, 3):
        await backend.write(ONE, state_body(serial))
    assert await backend.read(ONE) == state_body(3)
    old = next(kept for kept in await backend.versions(ONE) if kept.serial == 1)
    assert await backend.read(ONE, old.id) == state_body(1)
    await backend.rollback(ONE, old.id)
    assert await backend.read(ONE) == state_body(1)
    assert {3, 2, 1} == {kept.serial for kept in await backend.versions(ONE)}


async def test_an_older_state_needs_force(backend: StateBackend) -> None:
    """A restore over something newer or foreign must be asked for."""
    await backend.write(ONE, state_body(5))
    for body in (state_body(4), state_body(9, lineage="other")):
        with pytest.raises(ConflictError):
            await backend.write(ONE, body)
    await backend.write(ONE, state_body(4), force=True)
    assert await backend.read(ONE) == state_body(4)


async def test_locks_are_seen_and_taken_away(backend: StateBackend) -> None:
    """A left-over lock is listed with its holder; unlocking checks the id when one is given."""
    await backend.write(ONE, state_body(1))
    await hold(backend, ONE)
    (held, _) = await backend.overview()
    assert held.lock is not None
    assert held.lock["Who"] == "alice@laptop"
    with pytest.raises(ConflictError, match="alice@laptop"):
        await backend.unlock(ONE, "another")
    assert await backend.unlock(ONE, "gone")
    assert not await backend.unlock(ONE, None)


@pytest.mark.parametrize("backend", BACKENDS[1:], indirect=True)
async def test_a_held_state_is_not_written(backend: StateBackend) -> None:
    """A restore does not write while another client works."""
    await backend.write(ONE, state_body(1))
    await hold(backend, ONE)
    with pytest.raises(ConflictError, match="locked by alice@laptop"):
        await backend.write(ONE, state_body(2))
    assert await backend.read(ONE) == state_body(1)


async def test_a_version_that_is_none(backend: StateBackend) -> None:
    """Versions that were never kept are an error, with the way to find one."""
    await backend.write(ONE, state_body(1))
    with pytest.raises(TalopsError):
        await backend.rollback(ONE, "../../etc/passwd")


async def test_migration_into_every_backend(backend: StateBackend, tmp_path: Path) -> None:
    """States move from files, are verified, and the files are put aside; again is harmless."""
    source = local_at(tmp_path / "old")
    await source.write(ONE, state_body(3))
    await source.write(TWO, state_body(7, padding=400_000))
    moved = await migrate(source, backend)
    assert [(m.state, m.serial) for m in moved] == [(ONE, 3), (TWO, 7)]
    assert await backend.read(ONE) == state_body(3)
    assert await backend.read(TWO) == state_body(7, padding=400_000)
    assert await source.read(ONE) is None
    assert [kept.serial for kept in await source.versions(ONE)] == [3]
    assert await migrate(source, backend) == []


async def test_migration_back_to_files(backend: StateBackend, tmp_path: Path) -> None:
    """The way back leaves the server or bucket as it is."""
    await backend.write(ONE, state_body(3))
    target = local_at(tmp_path / "new")
    await migrate(backend, target)
    assert await target.read(ONE) == state_body(3)


async def test_migration_stops_at_a_held_or_newer_state(
    backend: StateBackend, tmp_path: Path
) -> None:
    """Nothing is retired when one state is held, or when the new place has something newer."""
    source = local_at(tmp_path / "old")
    await source.write(ONE, state_body(3))
    await backend.write(ONE, state_body(8))
    with pytest.raises(ConflictError):
        await migrate(source, backend)
    assert await source.read(ONE) == state_body(3)
    await hold(source, ONE)
    with pytest.raises(ConflictError, match="locked by"):
        await migrate(source, backend, force=True)


async def test_an_empty_file_is_a_lock_or_a_loss(tmp_path: Path) -> None:
    """The tools make one to lock what is yet to be made; where a state was, it is missing."""
    backend = local_at(tmp_path)
    path = backend._files[ONE]
    await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
    await asyncio.to_thread(path.touch)
    (info, _) = await backend.overview()
    assert (info.exists, info.problem) == (False, "")
    assert await backend.read(ONE) is None
    assert backend.keep(ONE) is None
    await backend.write(ONE, state_body(1))
    backend.keep(ONE)
    await asyncio.to_thread(path.write_bytes, b"")
    (info, _) = await backend.overview()
    assert "not a state" in info.problem


async def test_a_file_that_is_being_written_is_not_damaged(tmp_path: Path) -> None:
    """As long as a process holds the tools' lock on it; a lock file alone proves nothing."""
    backend = local_at(tmp_path)
    await backend.write(ONE, state_body(1))
    path = backend._files[ONE]
    await asyncio.to_thread(path.write_bytes, state_body(1)[:40])
    await hold(backend, ONE)
    assert (await backend.overview())[0].problem
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, str(path), stdin=-1, stdout=-1
    )
    assert writer.stdout
    assert await writer.stdout.readline()
    problem = (await backend.overview())[0].problem
    await writer.communicate(b"")
    assert not problem
    assert (await backend.overview())[0].problem


async def test_a_corrupt_file_is_reported_and_restored(tmp_path: Path) -> None:
    """A torn local file is not an empty state; the newest copy brings it back."""
    backend = local_at(tmp_path)
    await backend.write(ONE, state_body(1))
    backend.keep(ONE)
    path = backend._files[ONE]
    await asyncio.to_thread(path.write_bytes, state_body(1)[:40])
    (info, _) = await backend.overview()
    assert "not a state" in info.problem
    assert not info.exists
    (kept,) = await backend.versions(ONE)
    await backend.rollback(ONE, kept.id)
    assert await backend.read(ONE) == state_body(1)
    modes = {p.stat().st_mode & 0o777 for p in (tmp_path / "kept").rglob("*.tfstate")}
    assert modes == {0o600}


async def test_copies_are_kept_by_count_and_age(tmp_path: Path) -> None:
    """An unchanged state makes no copy; old ones go, the newest never."""
    backend = local_at(tmp_path, Retention(count=3, days=10))
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for day in range(5):
        await backend.write(ONE, state_body(day + 1))
        assert backend.keep(ONE, start + timedelta(days=day)) is not None
        assert backend.keep(ONE, start + timedelta(days=day, hours=1)) is None
    names = [n for n in backend._names(ONE) if n.startswith("2026010")]
    assert len(names) <= 3
    later = copies.outdated(names, Retention(days=10), start + timedelta(days=300))
    assert max(names) not in later
    assert len(later) == len(names) - 1


def _lock_and_wait(path: str, ready: multiprocessing.synchronize.Event) -> None:
    import signal

    with open(path, "r+b") as file:  # noqa: PTH123  (a bare child process)
        fcntl.lockf(file, fcntl.LOCK_EX)
        ready.set()
        signal.pause()  # until it is killed


async def test_a_file_in_use_is_left_alone(tmp_path: Path) -> None:
    """While a process holds the file's own lock, neither a restore nor an unlock touches it."""
    backend = local_at(tmp_path)
    await backend.write(ONE, state_body(1))
    await hold(backend, ONE)
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=_lock_and_wait, args=(str(backend._files[ONE]), ready))
    process.start()
    try:
        assert await asyncio.to_thread(ready.wait, 60)
        with pytest.raises(ConflictError, match="alice@laptop"):
            await backend.write(ONE, state_body(2))
        with pytest.raises(ConflictError, match="running process"):
            await backend.unlock(ONE, None)
    finally:
        process.terminate()
        process.join(30)


async def test_an_unreachable_server_is_no_empty_state() -> None:
    """No answer is an error, never "nothing there"."""
    backend = HttpBackend(HttpSettings("http://127.0.0.1:1/homelab", NAMES))
    with pytest.raises(UnreachableError):
        await backend.read(ONE)
    await backend.close()


@pytest.mark.parametrize(
    ("url", "root", "project"),
    [
        ("https://states.example/homelab", "https://states.example", "homelab"),
        ("https://x.example/sub/homelab/", "https://x.example/sub", "homelab"),
        ("https://x.example/tfstate/states", "https://x.example", "tfstate"),
    ],
)
def test_the_parts_of_an_address(url: str, root: str, project: str) -> None:
    """The project is the last part; the older layout has one of its own."""
    settings = HttpSettings(url)
    assert (settings.root, settings.project) == (root, project)


def test_differences_show_addresses_and_no_values() -> None:
    """Added, removed and changed addresses are found; no value appears."""

    def state(resources: dict[str, str]) -> bytes:
        items = [
            {
                "mode": "managed",
                "type": "vm",
                "name": name,
                "instances": [{"index_key": 0, "attributes": {"password": value}}],
            }
            for name, value in resources.items()
        ]
        document = {"serial": 1, "lineage": "l", "resources": items, "outputs": {"o": {"value": 1}}}
        return json.dumps(document).encode()

    before = contents_of(state({"a": "geheim", "b": "x"}))
    after = contents_of(state({"a": "anders", "c": "x"}))
    found = compare(before, after)
    assert (found.added, found.removed, found.changed) == (("vm.c[0]",), ("vm.b[0]",), ("vm.a[0]",))
    assert compare(before, before).empty
    assert "geheim" not in repr(before)
