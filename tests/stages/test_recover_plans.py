"""Recovery decided from facts: whose VMs are ours, what a state lacks, what becomes of etcd."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from talops.adoption import completing
from talops.adoption.claims import Claim, claim_images, claim_vms, wishes
from talops.approval import Impact
from talops.backups.compatibility import require_restorable
from talops.backups.manifest import Backup, Manifest
from talops.backups.restoring import BackupSource
from talops.errors import ConflictError, TalopsError
from talops.inventory.load import load
from talops.pipeline.lease import Fence
from talops.proxmox.facts import Guest
from talops.site.founding.evidence import Evidence
from talops.site.proxmox.wanted import wanted
from talops.site.site import Limits
from talops.stages.adopt import Adopt, Facts
from talops.stages.bootstrap import ControlPlaneFacts
from talops.stages.bootstrap import Facts as EtcdFacts
from talops.stages.restore import RecoveryChoice, Restore, recovery_choice
from talops.stages.salvage import Facts as Leftovers
from talops.stages.salvage import Salvage

CLUSTER = load(Path(__file__).parent.parent.parent / "examples" / "ha").require()
WISH = wishes(CLUSTER, wanted(CLUSTER))[0]
OURS = Guest(
    WISH.vm.vm_id or 500,
    WISH.vm.name,
    WISH.vm.host,
    running=True,
    template=False,
    tags=frozenset({CLUSTER.name, "talos"}),
    macs=frozenset({WISH.vm.mac.upper()}),
)


def site(root: Path) -> Any:
    class Site:
        cluster = CLUSTER
        limits = Limits()
        fence = Fence()

    found = Site()
    found.root = root  # type: ignore[attr-defined]
    return found


def test_what_talops_made_is_claimed_by_its_vmid() -> None:
    """VMID, name, tag and MAC all fit."""
    claims, doubts = claim_vms([WISH], [OURS, replace(OURS, vm_id=1, name="x", macs=frozenset())])
    assert doubts == []
    assert [(c.address, c.identity) for c in claims] == [
        (WISH.address, f"{OURS.host}/{OURS.vm_id}")
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": "somebody"}, "has the name somebody"),
        ({"tags": frozenset({"talos"})}, f"does not have the tag {CLUSTER.name}"),
        ({"macs": frozenset({"BC:24:11:00:00:01"})}, "has MAC BC:24:11:00:00:01 instead of"),
        ({"macs": None}, "could not be read"),
        ({"template": True}, "is a template"),
    ],
)
def test_a_vm_that_is_not_ours_is_named_and_never_claimed(
    change: dict[str, Any], reason: str
) -> None:
    """One thing that does not fit is enough."""
    claims, doubts = claim_vms([WISH], [replace(OURS, **change)])
    assert claims == []
    assert reason in doubts[0]


def test_strangers_are_left_alone() -> None:
    """A VM that shares nothing with the plan is ignored."""
    stranger = Guest(9999, "mail", "pve1", running=True, template=False)
    assert claim_vms([WISH], [stranger]) == ([], [])


def test_images_are_claimed_by_host_storage_and_name() -> None:
    """The file's name says version, schematic and cluster."""
    image = {"host": "pve1", "content_type": "iso", "file_name": "t.iso", "url": "https://f/t.iso"}
    there = {"pve1/local:iso/t.iso", "pve2/local:iso/other.iso"}
    (claim,) = claim_images("02", {"pve1/t.iso": image}, "local", there)
    assert claim.identity == "pve1/local:iso/t.iso"
    assert claim_images("02", {"pve2/t.iso": {**image, "host": "pve2"}}, "local", there) == []


def test_doubts_stop_the_whole_adoption(tmp_path: Path) -> None:
    """Nothing is imported while something looks like ours and is not."""
    report: Any = None
    adopt = Adopt(site(tmp_path), report)
    claim = Claim("02", "address", "pve/1", "VM a")
    with pytest.raises(ConflictError, match="b: VM 7 on pve has the name c"):
        adopt.plan(Facts((claim,), ("b: VM 7 on pve has the name c",)))
    planned = adopt.plan(Facts((claim,), (), ()))
    assert [str(change) for change in planned] == [
        "import VM a (is pve/1)",
        "complete 02 (attributes that an import cannot read)",
    ]


def state(kind: str, label: str, key: str, /, **attributes: Any) -> dict[str, Any]:
    module = f'module.node["{key}"]' if kind.endswith("_vm") else None
    return {
        **({"module": module} if module else {}),
        "mode": "managed",
        "type": kind,
        "name": label,
        "instances": [{**({} if module else {"index_key": key}), "attributes": attributes}],
    }


def test_gaps_of_an_import_are_filled_once() -> None:
    """What the hosts keep stays as it was read; a state without gaps is left alone."""
    document = {
        "serial": 4,
        "resources": [
            state("proxmox_virtual_environment_vm", "this", "a", migrate=False, agent=[], name="a"),
            state("proxmox_download_file", "image", "h/t.iso", url=None, size=3),
            {"mode": "data", "type": "proxmox_datastores", "name": "host", "instances": []},
        ],
    }
    image, vm = (
        'proxmox_download_file.image["h/t.iso"]',
        'module.node["a"].proxmox_virtual_environment_vm.this',
    )
    assert completing.addresses(document) == {image, vm}
    assert set(completing.incomplete(document)) == {image, vm}
    done = completing.complete(document, {image: "https://f/t.iso"}, qemu_agent=False)
    assert done["serial"] == 5
    assert completing.incomplete(done) == []
    first, second = (entry["instances"][0]["attributes"] for entry in done["resources"][:2])
    assert (first["migrate"], first["name"], first["agent"][0]["enabled"]) == (True, "a", False)
    assert (second["url"], second["size"]) == ("https://f/t.iso", 3)


EMPTY = ControlPlaneFacts(has_data=False, members=frozenset())
MEMBER = ControlPlaneFacts(has_data=True, members=frozenset({"ha-cp-1"}))


def etcd(plane: ControlPlaneFacts) -> EtcdFacts:
    planes = {"ha-cp-1": plane, "ha-cp-2": EMPTY, "ha-cp-3": EMPTY}
    return EtcdFacts(planes, "this", (Evidence("this directory bootstrapped it", "record"),))


def restore(root: Path, choice: RecoveryChoice) -> Restore:
    nothing: Any = None
    return Restore(site(root), nothing, nothing, choice)


def test_lost_etcd_needs_a_word(tmp_path: Path) -> None:
    """Without one a recovery refuses like any other run; with one it does what was said."""
    snapshot = tmp_path / "snap.db"
    snapshot.write_bytes(b"database")
    copy = RecoveryChoice(snapshot, from_copy=True)
    with pytest.raises(ConflictError) as caught:
        restore(tmp_path, RecoveryChoice()).plan(etcd(EMPTY))
    assert "--bootstrap-again ha" in (caught.value.hint or "")
    (again,) = restore(tmp_path, RecoveryChoice(again=True)).plan(etcd(EMPTY))
    assert again.action == "bootstrap"
    (back,) = restore(tmp_path, copy).plan(etcd(EMPTY))
    assert str(back) == "restore etcd on ha-cp-1 (from snap.db)"


def test_no_snapshot_is_restored_over_data(tmp_path: Path) -> None:
    """Data anywhere is kept, unless it came from this very snapshot."""
    snapshot = tmp_path / "snap.db"
    snapshot.write_bytes(b"database")
    stage = restore(tmp_path, RecoveryChoice(snapshot, from_copy=True))
    with pytest.raises(ConflictError, match="etcd has data"):
        stage.plan(etcd(MEMBER))
    restored = replace(etcd(MEMBER), snapshot=digest_of(stage))
    assert stage.plan(restored) == []
    assert restore(tmp_path, RecoveryChoice()).plan(etcd(MEMBER)) == []


def digest_of(stage: Restore) -> str:
    assert stage._source
    return stage._source.digest


def lists(*names: str, data: bool = True) -> ControlPlaneFacts:
    return ControlPlaneFacts(data, frozenset(f"ha-cp-{name}" for name in names))


def from_backup(root: Path) -> Restore:
    """A recovery whose backup is found and proven."""
    stage = restore(root, RecoveryChoice(backup="latest"))
    said: dict[str, Any] = {
        "source": "ha-cp-1",
        "created": datetime(2026, 11, 19, 20, 33, tzinfo=UTC),
        "snapshot": SimpleNamespace(sha256="d1", copied=False, survivor=False),
    }
    made = Manifest.model_construct(**said)
    assert isinstance(stage._source, BackupSource)
    stage._source._backup = Backup("20261119T203346Z-5f0c9f1d", made)
    return stage


@pytest.mark.parametrize(
    ("planes", "plan"),
    [
        ((EMPTY, EMPTY, EMPTY), ["restore"]),
        ((lists("1", "2", "3"), EMPTY, EMPTY), ["wipe ha-cp-1", "restore"]),
        ((EMPTY, EMPTY, lists("1", "2", "3")), ["wipe ha-cp-3", "restore"]),
        # One member that was restored, or founded, waits for the others to join.
        ((lists("1"), EMPTY, EMPTY), None),
        # Two of three have their data: they come back without a backup.
        ((lists("1", "2", "3"), lists("1", "2", "3"), EMPTY), None),
        ((lists("1", "2", "3"), lists(), EMPTY), None),
        # Data whose members are not known proves nothing.
        ((lists(), EMPTY, EMPTY), None),
        ((lists("1", "2", "3"),) * 3, None),
    ],
)
def test_what_is_left_is_wiped_only_without_a_majority(
    tmp_path: Path, planes: Any, plan: list[str] | None
) -> None:
    """The disks of a majority are empty, and a member lists them: it can never be whole again."""
    names = ("ha-cp-1", "ha-cp-2", "ha-cp-3")
    facts = EtcdFacts(dict(zip(names, planes, strict=True)), "this")
    stage = from_backup(tmp_path)
    if plan is None:
        with pytest.raises(ConflictError, match="etcd has data") as caught:
            stage.plan(facts)
        assert "talops recover without --from-backup" in str(caught.value.hint)
        assert stage.plan(replace(facts, snapshot="d1")) == []
        return
    found = stage.plan(facts)
    assert [f"{c.action} {c.node}" if c.action == "wipe" else c.action for c in found] == plan
    assert str(found[-1]) == (
        "restore etcd on ha-cp-1 (from backup 20261119T203346Z-5f0c9f1d of 2026-11-19 20:33 UTC)"
    )
    assert all((c.impact is Impact.DESTROYS) == (c.action == "wipe") for c in found)
    kept = [c.detail for c in found if c.action == "wipe"]
    assert all("talops backup create --without-majority" in detail for detail in kept)


@pytest.mark.parametrize(
    ("storage", "talos", "refused"),
    [
        ("3.7.0", "v1.13.9", True),
        ("3.7.0", "v1.15.0", False),
        ("3.6.0", "v1.13.9", False),
        ("3.7.0", "v1.14.1", False),
        ("", "v1.12.0", False),
        ("3.9.0", "v1.99.0", False),
    ],
)
def test_a_backup_of_a_newer_etcd(storage: str, talos: str, refused: bool) -> None:
    """Refused before anything is wiped for it, with the version that made it."""
    said: dict[str, Any] = {
        "source": "ha-cp-1",
        "id": "x",
        "snapshot": SimpleNamespace(storage_version=storage),
        "versions": SimpleNamespace(talos="v1.14.1"),
    }
    made = Manifest.model_construct(**said)
    if not refused:
        require_restorable(made, talos)
        return
    with pytest.raises(ConflictError, match="cannot read it") as caught:
        require_restorable(made, talos)
    assert "talos_version: v1.14.1" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("snapshot", "again", "reason"),
    [
        (None, "other", "requires the name of this cluster"),
        (Path("a"), "ha", "cannot be combined"),
        (Path("does-not-exist"), None, "the snapshot does not exist"),
    ],
)
def test_words_that_mean_nothing(snapshot: Path | None, again: str | None, reason: str) -> None:
    """They are refused before anything is looked at."""
    with pytest.raises(TalopsError, match=reason):
        recovery_choice("ha", snapshot, again, from_copy=False)


def test_one_way_to_recover() -> None:
    """A backup and a snapshot exclude each other."""
    with pytest.raises(TalopsError, match="--from-snapshot and --from-backup cannot be combined"):
        recovery_choice("ha", Path(__file__), None, from_copy=False, backup="latest")


def test_leftovers_are_put_away(tmp_path: Path) -> None:
    """Own locks without a program behind them, unsaved states, plans; others are only named."""
    nothing: Any = None
    salvage = Salvage(site(tmp_path), nothing, nothing)
    mine = {"ID": "1", "Who": "me@here", "Created": "2026-01-02T03:04:05.678901234Z"}
    layer = tmp_path / "infrastructure/02-platforms/ha"
    seen = Leftovers(
        (layer / "errored.tfstate",),
        (tmp_path / "old.tfplan",),
        (("02-platforms-ha", mine), ("01-hypervisors", {"ID": "2", "Who": "eve@far"})),
        me="me@here",
        runs=((datetime(2026, 1, 2, 3, tzinfo=UTC), datetime(2026, 1, 2, 4, tzinfo=UTC)),),
    )
    assert [str(change) for change in salvage.plan(seen)] == [
        f"unlock 02-platforms-ha (left by {mine['Who']})",
        "push 02-platforms-ha/errored.tfstate (a state that could not be saved)",
        "remove old.tfplan (a plan that was never applied)",
    ]
    assert salvage.plan(replace(seen, me="another@here", errored=(), plans=())) == []
    busy = replace(seen, busy=frozenset({"02-platforms-ha"}), errored=(), plans=())
    assert salvage.plan(busy) == []


async def test_locks_of_others_are_named(tmp_path: Path) -> None:
    """The look names whose they are; the plan is decided in silence."""
    said: list[str] = []

    class Report:
        def note(self, message: str, **_: Any) -> None:
            said.append(message)

    class Backend:
        async def overview(self) -> list[Any]:
            lock = {"ID": "2", "Who": "eve@far"}
            return [SimpleNamespace(name="01-hypervisors-ha", lock=lock)]

        async def close(self) -> None:
            pass

    report: Any = Report()
    backend: Any = Backend()
    salvage = Salvage(site(tmp_path), report, lambda: backend)
    facts = await salvage.observe()
    assert isinstance(facts, Leftovers)
    assert "eve@far" in said[0]
    assert salvage.plan(facts) == []
    assert len(said) == 1
