"""The stage `storage`: what it plans, what it refuses, and what it does to a TrueNAS."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.gitops.inventories import cluster
from tests.truenas.nas import NEW, OLD, running

from talops.app.drift import storage as drift
from talops.checks.before import truenas
from talops.errors import ConflictError, DeniedError, TalopsError, UnreachableError
from talops.pipeline.checks import Verdict
from talops.pipeline.result import RunStatus
from talops.pipeline.runner import run_stages
from talops.pipeline.stage import Reporter
from talops.redaction import Secret
from talops.secrets.sops import Sops
from talops.site.site import Site
from talops.stages.storage import Facts, Storage
from talops.truenas.datasets import GIB, Dataset, Pool, Property
from talops.truenas.refusals import FullError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.truenas.nas import Nas

    from talops.pipeline.result import RunResult

PLAIN = "truenas: {url: 'https://nas.example', pool: tank}\n"
LISTED = """\
truenas:
  url: https://nas.example
  pool: tank
  datasets:
    - name: k8s/volumes
      quota: 20
      properties: {compression: zstd, atime: off}
    - name: k8s/snapshots
"""
TANK = {"tank": Pool("tank", "ONLINE", healthy=True)}


def site_of(folder: Path, more: str) -> Site:
    return Site(
        cluster=cluster(folder, more),
        root=folder,
        sops=Sops(Path("/nonexistent"), folder),
        engine=Path("/nonexistent"),
        environment={},
        credentials={"truenas_api_key": Secret("1-x")},
        kubeconfig=folder / "kubeconfig",
    )


def stage_of(site: Site) -> Storage:
    return Storage(site, Reporter("storage", lambda _: None))


def dataset(name: str, **more: Any) -> Dataset:
    values: dict[str, Any] = {
        "kind": "FILESYSTEM",
        "used": GIB,
        "available": 50 * GIB,
        "quota": None,
        "locked": False,
        "properties": {"compression": Property("LZ4", own=False)},
    }
    return Dataset(name, **{**values, **more})


def facts(*live: Dataset) -> Facts:
    names = ("tank/k8s", "tank/k8s/volumes", "tank/k8s/snapshots")
    found = {each.name: each for each in live}
    return Facts(TANK, {name: found.get(name) for name in names})


def test_parents_come_first(tmp_path: Path) -> None:
    """Everything is new: what is between pool and dataset is made, too."""
    plan = stage_of(site_of(tmp_path, LISTED)).plan(facts())
    assert [str(change) for change in plan] == [
        "create tank/k8s",
        "create tank/k8s/volumes (quota 20 GiB, compression zstd, atime off)",
        "create tank/k8s/snapshots",
    ]


def test_the_cluster_has_two_datasets_by_itself(tmp_path: Path) -> None:
    """Volumes and detached snapshots beside each other, under the cluster's name."""
    stage = stage_of(site_of(tmp_path, PLAIN))
    names = ("tank/home", "tank/home/volumes", "tank/home/snapshots")
    plan = stage.plan(Facts(TANK, dict.fromkeys(names)))
    assert [change.target for change in plan] == list(names)


def test_only_what_differs_is_changed(tmp_path: Path) -> None:
    """Both values of each; what is not in the inventory is left as it is."""
    volumes = dataset(
        "tank/k8s/volumes",
        quota=10 * GIB,
        properties={"compression": Property("LZ4", own=True), "atime": Property("OFF", own=True)},
    )
    seen = facts(dataset("tank/k8s"), volumes, dataset("tank/k8s/snapshots", quota=GIB))
    plan = stage_of(site_of(tmp_path, LISTED)).plan(seen)
    assert [str(change) for change in plan] == [
        "update tank/k8s/volumes (quota 10 GiB → 20 GiB, compression lz4 → zstd)"
    ]
    rows = [(d.attribute, d.wanted, d.actual, d.safe) for d in drift.rows(plan[0], seen)]
    assert rows == [("quota", "20 GiB", "10 GiB", True), ("compression", "zstd", "lz4", True)]


@pytest.mark.parametrize(
    ("live", "words", "where"),
    [
        ({"used": 30 * GIB}, "uses 30 GiB, more than its quota of 20 GiB", "cluster.yaml:13:14"),
        ({"kind": "VOLUME"}, "is a volume, not a file system", "cluster.yaml:12:13"),
        ({"locked": True}, "encrypted and locked", "https://nas.example"),
    ],
)
def test_what_would_lose_something_is_refused(
    tmp_path: Path, live: dict[str, Any], words: str, where: str
) -> None:
    """With the line that asks for it."""
    with pytest.raises(ConflictError, match=words) as refused:
        stage_of(site_of(tmp_path, LISTED)).plan(facts(dataset("tank/k8s/volumes", **live)))
    assert refused.value.where == where
    assert refused.value.hint


def test_a_pool_that_is_not_there(tmp_path: Path) -> None:
    """Those that are there are named."""
    other = Facts({"data": Pool("data", "ONLINE", healthy=True)}, {})
    with pytest.raises(TalopsError, match="no pool tank; existing pools: data"):
        stage_of(site_of(tmp_path, LISTED)).plan(other)


def test_no_key(tmp_path: Path) -> None:
    """The command that keeps one is named."""
    site = replace(site_of(tmp_path, LISTED), credentials={})
    with pytest.raises(TalopsError, match="no API key") as refused:
        stage_of(site).plan(_observed(site))
    assert refused.value.hint == "talops secrets set truenas_api_key"


def _observed(site: Site) -> Facts:
    import asyncio

    return asyncio.run(stage_of(site).observe())


@pytest.fixture(params=[OLD, NEW])
async def nas(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Nas]:
    async with running(tmp_path / "lab", request.param) as found:
        yield found


def at(nas: Nas, folder: Path, *, key: int = 0, pool: str = "tank", quota: int = 20) -> Site:
    (folder / "site").mkdir(exist_ok=True)
    text = LISTED.replace("https://nas.example", nas.url).replace("pool: tank", f"pool: {pool}")
    text = text.replace("quota: 20", f"quota: {quota}") + "  ca_file: nas-ca.pem\n"
    (folder / "site/nas-ca.pem").write_bytes(Path(nas.ca_file).read_bytes())
    site = site_of(folder / "site", text)
    return replace(site, credentials={"truenas_api_key": Secret(nas.service.keys[key].key)})


async def run(site: Site) -> RunResult:
    return await run_stages([stage_of(site)], emit=lambda _: None)


async def test_a_second_run_changes_nothing(nas: Nas, tmp_path: Path) -> None:
    """Then another quota is one update; volumes that a driver has made stay."""
    first = await run(at(nas, tmp_path))
    assert first.error is None, first.error
    assert len(first.stages[0].changes) == 3
    await run(at(nas, tmp_path))
    changed = [method for method in nas.asked if not method.endswith("query")]
    assert changed == ["pool.dataset.create"] * 3

    nas.zfs.write("tank/k8s/volumes", 2 * GIB)
    third = await run(at(nas, tmp_path, quota=40))
    assert third.stages[0].changes == ("update tank/k8s/volumes (quota 20 GiB → 40 GiB)",)
    assert nas.zfs.used("tank/k8s/volumes") > 2 * GIB
    refused = await run(at(nas, tmp_path, quota=1))
    assert isinstance(refused.error, ConflictError)
    assert nas.zfs.datasets["tank/k8s/volumes"].quota == 40 * GIB
    assert not [method for method in nas.asked if "delete" in method]


@pytest.mark.parametrize(
    ("how", "kind"),
    [({"pool": "full"}, FullError), ({"key": 1}, DeniedError), ({"key": 2}, DeniedError)],
    ids=["pool full", "read only", "no rights"],
)
async def test_refused_and_nothing_lost(
    nas: Nas, tmp_path: Path, how: dict[str, Any], kind: type[TalopsError]
) -> None:
    """Full pool, key without rights: clear error with a next step, the TrueNAS as it was."""
    before = nas.zfs.datasets.items()
    result = await run(at(nas, tmp_path, **how))
    assert result.status is RunStatus.FAILED
    assert isinstance(result.error, kind)
    assert result.error.hint
    assert nas.zfs.datasets.items() == before


async def test_dropped_in_the_middle(nas: Nas, tmp_path: Path) -> None:
    """The connection ends after the second dataset was made; running again completes it."""
    nas.fault("drop", path="dataset.create", when="after", skip=1, times=1)
    first = await run(at(nas, tmp_path))
    assert isinstance(first.error, UnreachableError)
    again = await run(at(nas, tmp_path))
    assert again.error is None, again.error
    assert again.stages[0].changes == ("create tank/k8s/snapshots",)


async def test_preflight(nas: Nas, tmp_path: Path) -> None:
    """Reachable, logged in, allowed to write, space left; each failure alone."""
    (good,) = await truenas.look(at(nas, tmp_path))
    assert good.verdict is Verdict.PASSED
    assert good.what.startswith("TrueNAS answers, the key can write, pool tank has ")
    (tight,) = await truenas.look(at(nas, tmp_path, quota=900))
    assert tight.verdict is Verdict.WARNING
    assert tight.what.startswith("quotas allow 900 GiB more, but pool tank has ")
    (missing,) = await truenas.look(at(nas, tmp_path, pool="gone"))
    assert missing.what == "pool gone does not exist; existing pools: tank, full"
    (full,) = await truenas.look(at(nas, tmp_path, pool="full"))
    assert (full.verdict, full.what) == (Verdict.FAILED, "pool full is full: 0 GiB free")
    with pytest.raises(DeniedError):
        await truenas.look(at(nas, tmp_path, key=1))
    assert nas.zfs.datasets.keys() == ["full", "tank"]


async def test_drift(nas: Nas, tmp_path: Path) -> None:
    """Missing datasets are differences; a TrueNAS that does not answer is not "no difference"."""
    site = at(nas, tmp_path)
    report = Reporter("drift", lambda _: None)
    found = await drift.look(site, report)
    assert [(d.target, d.attribute) for d in found.differences] == [
        ("tank/k8s", "exists"),
        ("tank/k8s/volumes", "exists"),
        ("tank/k8s/snapshots", "exists"),
    ]
    await run(site)
    assert (await drift.look(site, report)).differences == ()
    await nas.service.stop()
    with pytest.raises(UnreachableError):
        await drift.look(site, report)
