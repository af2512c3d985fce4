"""Two of three control planes lose their disks: a backup brings back one etcd with every object."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.backups.site import KEY
from tests.lab.talos.harness import until
from tests.lab.talos.site import QUICK, NodeSite

from talops.app.backups import keeping
from talops.backups.making import survivors
from talops.inventory.load import load
from talops.pipeline.runner import Options, run_stages
from talops.pipeline.stage import Reporter
from talops.secrets.age import KeyRing
from talops.secrets.rules import rules_text
from talops.secrets.sops import Sops
from talops.site.enrolment.admission import Admission
from talops.site.site import Site
from talops.stages.apply_config import ApplyConfig
from talops.stages.restore import RecoveryChoice, Restore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from talops.machineconfig.secrets.bundle import Bundle
    from talops.pipeline.result import RunResult

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PLANES = ("cp-1", "cp-2", "cp-3")
OBJECTS = 40  # of a kind that nothing else in the lab writes


@pytest.fixture
async def lab(
    tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> AsyncIterator[NodeSite]:
    """Three control planes with etcd, and no API server: etcd is what is restored."""

    async def find(name: str) -> Path:
        return tool(name)

    made = NodeSite(tmp_path, find, bundle, apiservers="leader-only")
    try:
        await made.start(*PLANES)
        (made.root / ".sops.yaml").write_text(rules_text([KEY.recipient]))
        for name in PLANES:
            await made.lab.listening(name)
        result = await made.run("bootstrap")
        assert result.exit_code == 0, made.events[-1]
        yield made
    finally:
        await made.lab.close()


def site_of(lab: NodeSite) -> Site:
    return Site(
        cluster=load(lab.root).require(),
        root=lab.root,
        environment={},
        credentials={},
        sops=Sops(Path("/nonexistent"), lab.root, KeyRing((KEY,))),
        engine=Path(),
        kubeconfig=lab.root / "kubeconfig",
        limits=QUICK,
    )


async def recover(lab: NodeSite) -> RunResult:
    site = site_of(lab)
    emit = lab.events.append
    choice = RecoveryChoice(backup="latest")
    said = Admission(any_again=True, restores_etcd=True)
    stages: list[Any] = [
        ApplyConfig(site, site.secrets, Reporter("apply-config", emit), admission=said),
        Restore(site, site.secrets, Reporter("bootstrap", emit), choice),
    ]
    return await run_stages(stages, emit=emit, options=Options(max_parallel=10))


def client(lab: NodeSite, name: str) -> Any:
    etcd = lab.lab.node(name).control_plane.etcd
    assert etcd is not None
    return etcd.client


async def blank(lab: NodeSite, name: str) -> None:
    """Its disk is lost; another machine takes its place."""
    machine = lab.lab.machines[name]
    await lab.lab.host.destroy(machine.uuid)
    await lab.lab.host.power_on(machine)
    await lab.lab.listening(name)


async def one_is_lost(lab: NodeSite) -> None:
    """A majority has its data: nothing is wiped, and the way without a backup is named."""
    await blank(lab, "cp-3")
    error = (await recover(lab)).error
    assert error is not None
    assert "etcd has data" in error.what
    assert "talops recover without --from-backup" in str(error.hint)
    assert (await client(lab, "cp-1").status())["leader"] != "0"


async def leaderless(lab: NodeSite, name: str) -> bool:
    """A leader that lost its majority steps down after an election timeout."""
    found: dict[str, str] = await client(lab, name).status()
    return found.get("leader", "0") == "0"  # JSON of protobuf leaves 0 out


async def left(lab: NodeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a lost majority: a snapshot of the survivor, and the file of its database, as it is read
    where etcd does not run; both with what no earlier backup has.
    """
    sent = await keeping.create(site_of(lab), print, without_majority=True)
    look = survivors._look

    async def not_running(talos: Any) -> Any:
        found = await look(talos)
        return found and (found[0], None)

    monkeypatch.setattr(survivors, "_look", not_running)
    copied = await keeping.create(site_of(lab), print, without_majority=True)
    assert [made.snapshot.copied for made in (sent, copied)] == [False, True]
    assert sent.kinds == copied.kinds
    assert copied.kinds["examples"].count == OBJECTS + 1


async def test_lost_members(lab: NodeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """One lost disk does not need a restore. Two do: what the survivor has is backed up, it is
    wiped, all three join what the first one restored, with every object; again: nothing.
    """
    for number in range(OBJECTS):
        await client(lab, "cp-1").put(b"/registry/examples/default/n%d" % number, b"%d" % number)
    made = await keeping.create(site_of(lab), print)
    assert made.kinds["examples"].count == OBJECTS
    await client(lab, "cp-1").put(b"/registry/examples/default/late", b"not lost")
    await one_is_lost(lab)
    for name in ("cp-2", "cp-3"):
        await blank(lab, name)
    await until(lambda: leaderless(lab, "cp-1"))
    await left(lab, monkeypatch)
    result = await recover(lab)
    assert result.exit_code == 0, [str(event) for event in lab.events[-5:]]
    changes = [change for stage in result.stages for change in stage.changes]
    ours = [change for change in changes if change.startswith(("wipe", "restore"))]
    assert [change.split(" (")[0] for change in ours] == [
        "wipe etcd data on cp-1",
        "restore etcd on cp-1",
    ]
    identities = set()
    for name in PLANES:
        assert {m.name for m in await until(client(lab, name).members)} == set(PLANES)
        identities.add((await client(lab, name).status())["header"]["cluster_id"])
    assert len(identities) == 1
    found = dict(await client(lab, "cp-3").page(b"/registry/examples/", 500))
    wanted = {b"/registry/examples/default/n%d" % n: b"%d" % n for n in range(OBJECTS)}
    wanted[b"/registry/examples/default/late"] = b"not lost"
    assert {
        k: v for k, v in found.items() if k.startswith(b"/registry/examples/default/")
    } == wanted
    again = await recover(lab)
    assert again.exit_code == 0
    assert [c for stage in again.stages for c in stage.changes] == []
