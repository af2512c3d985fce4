"""`talops recover` as a process of its own, killed at every event of it, then started again: one
etcd with every object, compared one by one.

`OBJECTS` says how many; `STEP=5` kills at every fifth event only.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from tests.backups.site import KEY
from tests.backups.test_recovery import blank, client, leaderless, site_of
from tests.lab.talos.harness import until
from tests.lab.talos.site import NodeSite, ended, kill
from tests.talos.conftest import Authority, server_context

from talops.app.backups import keeping
from talops.secrets.age import KeyRing
from talops.secrets.rules import rules_text
from talops.site.site import Limits

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle

pytestmark = [pytest.mark.slow, pytest.mark.chaos, pytest.mark.timeout(7200)]
OBJECTS, STEP = int(os.environ.get("OBJECTS", "10000")), int(os.environ.get("STEP", "1"))
PLANES = ("cp-1", "cp-2", "cp-3")
# Of the preparation; the commands that are killed have their own.
PATIENT = Limits(boot=600.0, install=600.0, etcd=600.0, kubernetes=600.0, interval=0.5)
FOLDER = b"/registry/examples/default/"
WANTED = {FOLDER + b"n%d" % n: b"value of %d" % n for n in range(OBJECTS)}
FROM_BACKUP = ("recover", "--from-backup", "latest")
# What is lost, and the command that brings it back.
LOST = {
    "all": (PLANES, FROM_BACKUP),
    "the last two": (("cp-2", "cp-3"), FROM_BACKUP),
    "the first two": (("cp-1", "cp-2"), FROM_BACKUP),
    "the disk of one": (("cp-2",), ("recover",)),
}


@pytest.fixture
async def factory(tmp_path: Path) -> AsyncIterator[str]:
    """Lines of cluster.yaml: an Image Factory that knows every schematic; no image is used."""
    authority = Authority()
    (tmp_path / "factory.crt").write_text(authority.certificate)
    context = server_context(authority.server(), None, tmp_path)

    async def known(_: web.Request) -> web.Response:
        return web.json_response({})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", known)
    runner = web.AppRunner(app)
    await runner.setup()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        await web.SockSite(runner, listener, ssl_context=context).start()
        yield (
            f"image_factory_url: https://127.0.0.1:{listener.getsockname()[1]}\n"
            "image_factory_ca_file: factory.crt\n"
        )
        await runner.cleanup()


@pytest.fixture
async def lab(
    tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle, factory: str
) -> AsyncIterator[NodeSite]:
    """Three control planes and a worker, and a backup of so many objects."""

    async def find(name: str) -> Path:
        return tool(name)

    made = NodeSite(tmp_path, find, bundle, apiservers="leader-only")
    try:
        await made.start(*PLANES, "w-1")
        with (made.root / "cluster.yaml").open("a") as file:
            file.write(factory)
        shutil.copy(tmp_path / "factory.crt", made.root)
        (made.root / ".sops.yaml").write_text(rules_text([KEY.recipient]))
        KeyRing((KEY,)).save(made.root / "age.key")
        for name in (*PLANES, "w-1"):
            await made.lab.listening(name)
        up = await made.run("verify", limits=PATIENT)
        assert up.error is None, up.error
        await client(made, "cp-1").put_all(WANTED.items())
        backup = await keeping.create(site_of(made), print)
        assert backup.kinds["examples"].count == OBJECTS
        yield made
    finally:
        await made.lab.close()


@pytest.mark.parametrize("case", LOST)
async def test_killed_at_every_event(lab: NodeSite, case: str) -> None:
    """The same command converges after each of these kills."""
    names, words = LOST[case]
    number, finished = 0, False
    while not finished:
        number += STEP
        await lose(lab, names)
        seen = await killed_at(lab, number, *words)
        finished = any(event["kind"] == "run_finished" for event in seen)
        last = seen[-1]
        place = f"event {number}: {last['kind']} of {last.get('stage')} ({last.get('action')})"
        print(f"{case}: {place}", flush=True)  # noqa: T201  (hours of silence otherwise)
        code, said = await ended(await start(lab, *words))
        assert code == 0, f"killed at {place}: {said}"
        await whole(lab, place)
    assert number > STEP


async def start(lab: NodeSite, *words: str) -> asyncio.subprocess.Process:
    return await lab.command(*words, "--yes", "-o", "json")


async def killed_at(lab: NodeSite, number: int, *words: str) -> list[dict[str, str]]:
    """`kill -9` right after its event of this number; what it said until then."""
    process = await start(lab, *words)
    assert process.stdout
    seen: list[dict[str, str]] = []
    try:
        async for line in process.stdout:
            seen.append(json.loads(line))
            if len(seen) >= number:
                break
    finally:
        kill(process)
        await process.wait()
    return seen


async def lose(lab: NodeSite, names: tuple[str, ...]) -> None:
    for name in names:
        await blank(lab, name)
    left = [name for name in PLANES if name not in names]
    if len(left) == 1:
        await until(lambda: leaderless(lab, left[0]))


async def whole(lab: NodeSite, place: str) -> None:
    """One etcd of exactly these members, and every object as it was."""
    identities = set()
    for name in PLANES:
        assert {m.name for m in await until(client(lab, name).members)} == set(PLANES), place
        identities.add((await client(lab, name).status())["header"]["cluster_id"])
    assert len(identities) == 1, place
    found, start = {}, FOLDER
    while page := await client(lab, "cp-3").page(start, 500):
        ours = {key: value for key, value in page if key.startswith(FOLDER)}
        found.update(ours)
        start = page[-1][0] + b"\0"
        if len(ours) < len(page):
            break
    different = [key for key in WANTED.keys() | found.keys() if WANTED.get(key) != found.get(key)]
    assert different == [], place
