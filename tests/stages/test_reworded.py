"""Whatever a change says of itself, the same is done."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.examples import EXAMPLES
from tests.stages.reworded import SILENT, Log, Scene, Traced, acted
from tests.stages.test_reset_one import GOOD, LAST, etcd

from talops import generated
from talops.adoption.claims import Claim
from talops.delivery.handover import CheckedBranch
from talops.delivery.objects import ObjectDifferences
from talops.errors import UnreachableError
from talops.inventory.load import load
from talops.pipeline.stage import Change, Stage
from talops.site.fleet import Configured, InMaintenance, Unreachable
from talops.site.founding.evidence import Evidence
from talops.site.node_facts import Facts as ConfigFacts
from talops.site.node_facts import NodeFacts
from talops.site.site import Site
from talops.stages import (
    addons,
    adopt,
    apply_config,
    bootstrap,
    configure,
    destroy,
    gitops,
    images,
    reset_nodes,
    reset_one,
    restore,
    salvage,
    workers,
)
from talops.talos.calls.machine import ApplyMode

if TYPE_CHECKING:
    import random
    from pathlib import Path

CLUSTER = load(EXAMPLES / "ha").require()
RUNNING = Configured("config", None)
DOWN = Unreachable(UnreachableError("no route"))
SEEDS = 20


@pytest.fixture
def log() -> Log:
    return []


@pytest.fixture
def site(tmp_path: Path) -> Site:
    nothing: Any = None
    return Site(CLUSTER, tmp_path, {}, {}, nothing, tmp_path, tmp_path / "kubeconfig")


@pytest.fixture
def outside(log: Log, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Everything that a stage would act on by a function of another file."""
    for module, names in {
        addons: ("bring", "connected"),
        gitops: ("bring", "connected", "wait_until_ready", "make_deploy_key"),
        reset_nodes: ("wipe",),
        reset_one: ("wipe",),
        bootstrap: ("wait_for",),
        restore: ("wait_for",),
        configure: ("write",),
    }.items():
        for name in names:
            monkeypatch.setattr(module, name, Traced(log, name))
    monkeypatch.setattr(generated, "apply", Traced(log, "generated.apply"))
    monkeypatch.setattr(adopt, "copies_around", lambda *_: contextlib.nullcontext())
    return Traced(log, "outside")


def instead(stage: Stage[Any, Any], log: Log, *names: str, **answers: object) -> Any:
    """The stage, with methods of its own that reach far written down instead of run."""
    for name in names:
        setattr(stage, name, Traced(log, name))
    for name, answer in answers.items():

        async def give(*_: object, answer: object = answer) -> object:
            return answer

        setattr(stage, name, give)
    return stage


def resets(site: Site, log: Log, outside: Any) -> list[Scene]:
    """Of a whole cluster, of a part of it, and of single nodes."""
    whole: dict[str, Any] = {node.name: RUNNING for node in CLUSTER.nodes}
    part = {**whole, "ha-cp-2": DOWN}
    every = reset_nodes.ResetNodes(site, outside, SILENT)
    found = [Scene(every, reset_nodes.Facts(states)) for states in (whole, part)]
    for name, state, seen in (
        ("ha-w-1", RUNNING, None),
        ("ha-cp-1", RUNNING, GOOD),
        ("ha-cp-1", RUNNING, LAST),
        ("ha-cp-1", DOWN, etcd("123", "23")),
    ):
        node = next(node for node in CLUSTER.nodes if node.name == name)
        one = reset_one.ResetOne(site, node, outside, SILENT, force=True)
        instead(one, log, "_reach", "_strike_off", _etcd=seen)
        found.append(Scene(one, reset_one.Facts(state, seen)))
    return found


def configs(site: Site, log: Log, outside: Any) -> list[Scene]:
    """A first config, one that is awaited, and updates with and without a reboot."""
    seen: dict[str, NodeFacts] = {
        "ha-cp-1": NodeFacts(InMaintenance(), same=False, wanted="1"),
        "ha-cp-2": NodeFacts(RUNNING, False, ApplyMode.REBOOT, ("machine.files",), wanted="2"),
        "ha-cp-3": NodeFacts(RUNNING, False, ApplyMode.NO_REBOOT, ("machine.env",), wanted="3"),
        "ha-w-1": NodeFacts(DOWN, same=False, wanted="4"),
    }
    first = apply_config.ApplyConfig(site, outside, SILENT)
    later = workers.Workers(site, outside, SILENT)
    for stage in (first, later):
        instead(stage._configs, log, "_install", "_settle", "_update")  # type: ignore[arg-type]
    return [
        Scene(first, ConfigFacts(seen)),
        Scene(later, workers.Facts(seen, frozenset({"ha-w-1"}))),
    ]


def etcds(site: Site, log: Log, outside: Any) -> list[Scene]:
    """A new cluster, a lost one from a snapshot, and a lost one that starts empty."""
    snapshot = site.root / "snap.db"
    snapshot.write_bytes(b"database")
    empty = bootstrap.ControlPlaneFacts(has_data=False, members=frozenset())
    planes = {node.name: empty for node in CLUSTER.control_planes}
    found = [Scene(bootstrap.Bootstrap(site, outside, SILENT), bootstrap.Facts(planes, "a"))]
    for choice in (
        restore.RecoveryChoice(snapshot, from_copy=True),
        restore.RecoveryChoice(again=True),
    ):
        stage = restore.Restore(site, outside, SILENT, choice)
        instead(stage, log, "_record")
        evidence = (Evidence("a record", "here"),)
        found.append(Scene(stage, bootstrap.Facts(planes, "a", evidence)))
    return found


def files(site: Site, log: Log, outside: Any) -> list[Scene]:
    """What is rendered, left over, adopted, destroyed."""
    written = configure.Configure(site, outside, SILENT)
    change = generated.Change("a.tf", generated.Action.CREATE, "", "text", edited=False)
    put_away = salvage.Salvage(site, SILENT, outside)
    layer = site.root / "infrastructure/02-platforms/ha"
    lock = {"ID": "1", "Who": "me@here"}
    lost: Any = Traced(log, "plan file")
    lost.name = "old.tfplan"
    taken = adopt.Adopt(site, SILENT)
    name = next(iter(taken._layers))
    gone = destroy.Destroy(site, SILENT, every_layer=True, keep_state=False)
    names = [each.name for each in gone._layers]
    return [
        Scene(instead(written, log, _access=None), configure.Facts((change,), False, False)),
        Scene(
            instead(put_away, log, "_push"),
            salvage.Facts(
                (layer / salvage.ERRORED,), (lost,), (("02-platforms-ha", lock),), me="me@here"
            ),
        ),
        Scene(
            instead(taken, log, "_engine", "_complete"),
            adopt.Facts((Claim(name, "address", "pve/1", "VM a"),), (), ()),
        ),
        Scene(
            instead(gone, log, "_destroy", _listed=()),
            destroy.Facts({names[0]: ("a",)}, tuple(names[1:])),
        ),
    ]


def objects(site: Site, log: Log, outside: Any) -> list[Scene]:
    """Add-ons, Flux and its parts, the deploy key, a schematic."""
    obj: Any = {"kind": "ConfigMap"}
    looks = {
        "new": ObjectDifferences((obj,), (), 1),
        "old": ObjectDifferences((obj, obj), (), 1),
        "theirs": ObjectDifferences(),
    }
    held = {name: look.differing for name, look in looks.items()}
    parts = [gitops.Part(action, action, (obj,)) for action in ("create", "sync", "install")]
    flux = gitops.GitOps(site, outside, SILENT)
    pending = tuple((part, False) for part in parts)
    registered = images.Images(site, SILENT)
    texts = dict.fromkeys(registered._texts, False)
    registered._factory = SimpleNamespace(register=Register(log, registered._texts))  # type: ignore[assignment]
    return [
        Scene(addons.Addons(site, SILENT), addons.Facts(tuple(looks.items()), held)),
        Scene(flux, gitops.Facts(pending, checked=CheckedBranch("c" * 40, None), behind=True)),
        Scene(flux, gitops.Facts(needs_key=True)),
        Scene(registered, images.Facts(texts)),
    ]


class Register:
    """The Image Factory, which calls a schematic by its content."""

    def __init__(self, log: Log, texts: dict[str, str]) -> None:
        self._log = log
        self._names = {text: name for name, text in texts.items()}

    async def __call__(self, text: str) -> str:
        self._log.append(("register", text))
        return self._names[text]


@pytest.mark.parametrize("scenes", [resets, configs, etcds, files, objects])
async def test_rewording_changes_no_decision(
    scenes: Any,
    site: Site,
    log: Log,
    outside: Any,
    rng: random.Random,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same calls in the same order, whatever the texts of the changes are."""

    async def joins_etcd(*_: object) -> bool:
        return False  # there are no members to ask

    monkeypatch.setattr("talops.site.node_configs.joins_etcd", joins_etcd)
    for scene in scenes(site, log, outside):
        meant = await acted(scene, log, None)
        assert meant, scene.stage.name
        for _ in range(SEEDS):
            assert await acted(scene, log, rng) == meant, scene.stage.name


class Reader(Stage[None, Change]):
    """Decides by a word, as a reset once did."""

    name = "reader"

    def __init__(self, log: Log) -> None:
        self._log = log

    async def observe(self) -> None: ...

    def plan(self, _: None) -> list[Change]:
        return [Change("reset", "a", "drain and wipe")]

    async def apply(self, change: Change) -> None:
        self._log.append(("wipe", "gracefully" if "alone" not in change.detail else "at once"))

    async def verify(self, _: object, /) -> None: ...


async def test_a_decision_by_words_shows(log: Log, rng: random.Random) -> None:
    """The check itself can fail."""
    scene = Scene(Reader(log), None)
    meant = await acted(scene, log, None)
    assert any([await acted(scene, log, rng) != meant for _ in range(SEEDS * 5)])
