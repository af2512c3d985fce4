"""What the checks of `talops preflight` make of what they see."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from talops.checks.before import (
    addresses,
    age_key,
    clock,
    git,
    images,
    ports,
    provider,
    state,
    tools,
)
from talops.errors import PreflightError, TalopsError, UnreachableError
from talops.pipeline.checks import Check, CheckResult, failed, passed, warning
from talops.pipeline.stage import Reporter
from talops.render.tree import PROVIDER_VERSION
from talops.site.fleet import Configured, InMaintenance, Unreachable
from talops.stages.preflight import Preflight
from talops.statestore.backends.interface import StateInfo
from talops.toolchain.mirror import system

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Example

    from talops.events import Event
    from talops.pipeline.checks import Finding
    from talops.site.fleet import State

SILENT = Unreachable(UnreachableError("connection refused"))


def verdicts(findings: list[Finding]) -> list[str]:
    return [finding.verdict.value for finding in findings]


@pytest.mark.parametrize(
    ("inventory", "state", "founded", "expected"),
    [
        ("ha", SILENT, False, ["skipped"]),
        ("ha", SILENT, True, ["warning"] * 6),
        ("ha", InMaintenance(), False, ["passed"]),
        ("ha", Configured("", None), True, ["passed"]),
        ("ha", TalopsError("belongs to another cluster"), False, ["failed"] * 6),
        ("bare-metal", SILENT, False, ["failed"]),
    ],
)
def test_who_answers(
    example: Example, inventory: str, state: object, founded: bool, expected: list[str]
) -> None:
    """No VM yet is normal; a silent machine, or one of another cluster, is not."""
    cluster = example(inventory)
    seen = {node.name: state for node in cluster.nodes}
    found = verdicts(addresses.judge(cluster, seen, founded=founded))  # type: ignore[arg-type]  # rows of several types
    assert found == (expected if inventory == "ha" else expected * len(cluster.nodes))


@pytest.mark.parametrize(
    "plane", [InMaintenance(), Configured("", None)], ids=["new", "configured"]
)
def test_a_worker_of_metal_may_wait_for_etcd(example: Example, plane: State) -> None:
    """Behind a VIP it is silent until `up` has bootstrapped etcd; that is not a failure."""
    cluster = replace(example("ha"), proxmox=None)
    planes = {node.name: plane for node in cluster.control_planes}
    seen = {node.name: planes.get(node.name, SILENT) for node in cluster.nodes}
    assert len(seen) > len(planes)
    found = addresses.judge(cluster, seen, founded=False)
    assert sorted(set(verdicts(found))) == ["passed", "warning"]


@pytest.mark.parametrize(
    ("skew", "expected"),
    [(0.4, "passed"), (-30.0, "warning"), (300.0, "failed"), (None, "unproven")],
)
def test_clock_skew(skew: float | None, expected: str) -> None:
    """A minute is odd, more breaks certificates; no answer is not an agreement."""
    assert verdicts(clock.judge({"Proxmox": skew})) == [expected]


def test_ports_name_the_key_to_correct(example: Example) -> None:
    """Each address with the inventory's key it comes from."""
    places = {**ports.wanted(example("ha")), "state.url": ("states.example", 443)}
    assert places["proxmox_api_url"] == ("pve.example", 8006)
    errors = {**dict.fromkeys(places), "proxmox_api_url": "refused"}
    found = ports.judge(places, errors)
    assert verdicts(found) == ["failed", "passed"]
    assert "proxmox_api_url" in str(found[0].hint)


def test_the_vip_must_be_free() -> None:
    """What answers there before the cluster exists is another machine."""
    assert ports.judge_vip("10.0.0.1", taken=True).verdict == "failed"
    assert ports.judge_vip("10.0.0.1", taken=False).verdict == "passed"


def _sealed(recipient: str) -> str:
    return json.dumps({"sops": {"mac": "x", "age": [{"recipient": recipient}]}})


def test_the_age_key_fits_every_file() -> None:
    """Made for another key, not encrypted at all, not readable."""
    texts = {
        "a.sops.json": _sealed("age1us"),
        "b.sops.json": _sealed("age1them"),
        "c.sops.json": "{}",
        "d.sops.json": "{",
    }
    found = {str(f.where): f.what for f in age_key.judge(texts, frozenset({"age1us"}))}
    assert found["b.sops.json"] == "the file is encrypted for another age key"
    assert found["c.sops.json"] == "the name says encrypted, but the file is not"
    assert "cannot be parsed" in found["d.sops.json"]
    good = age_key.judge({"a.sops.json": _sealed("age1us")}, frozenset({"age1us"}))
    assert verdicts(good) == ["passed"]


def test_only_schematics_given_by_id_must_be_known(example: Example) -> None:
    """The others are registered during the run."""
    ha = example("ha")
    schematic = ha.nodes[0].image.schematic
    assert verdicts(images.judge(ha, {schematic: False}, "https://factory")) == ["passed"]


LOCK = {"ID": "1-2", "Who": "me@here", "Operation": "apply"}


@pytest.mark.parametrize(
    ("info", "strict", "expected"),
    [
        (StateInfo("a", 3, "l"), True, "passed"),
        (StateInfo("a"), True, "passed"),
        (StateInfo("a", 3, "l", lock=LOCK), True, "failed"),
        (StateInfo("a", 3, "l", lock=LOCK), False, "warning"),
        (StateInfo("a", problem="no JSON"), False, "failed"),
    ],
)
def test_states(info: StateInfo, strict: bool, expected: str) -> None:
    """Readable and unlocked; a run that continues may meet its own lock."""
    (found,) = state.judge([info], "here", strict=strict)
    assert found.verdict == expected


@pytest.mark.parametrize(
    ("files", "expected"), [(["flux/cluster/a.yaml"], "passed"), (["README.md"], "warning")]
)
def test_git(example: Example, files: list[str], expected: str) -> None:
    """The folder that Flux will read is in the branch, or yet to be pushed."""
    repository = example("ha").repository
    assert repository
    found = git.judge(replace(repository, path="flux/cluster"), "abc", files)
    assert verdicts(found) == [expected]


def test_missing_tools_are_fetched_later() -> None:
    """A delay, not a refusal."""
    assert verdicts(tools.judge({"sops": None})) == ["warning"]


def test_preflight_refuses_with_everything_at_once() -> None:
    """All findings in one error of exit code 4, and warnings as notes."""
    said: list[Event] = []
    stage = Preflight([], Reporter("preflight", said.append))
    bad = CheckResult("a", (failed("one", "here", "do this"), passed("fine")))
    with pytest.raises(PreflightError) as refused:
        stage.plan([bad, CheckResult("b", (failed("two"),))])
    assert refused.value.exit_code == 4
    assert "here: one — do this" in refused.value.what
    assert "two" in refused.value.what
    assert said == []


async def test_warnings_are_told_with_the_look() -> None:
    """Only where nothing conflicts; the decision has no output."""
    said: list[Event] = []

    async def careful() -> list[Finding]:
        return [warning("careful")]

    stage = Preflight([Check("c", careful)], Reporter("preflight", said.append))
    facts = await stage.observe()
    assert any("careful" in str(event) for event in said)
    told = len(said)
    assert stage.plan(facts) == []
    assert len(said) == told


@pytest.mark.parametrize(("absent", "verdict"), [([], "warning"), (["pve/local:iso/x"], "failed")])
def test_a_silent_factory_matters_only_if_it_is_needed(absent: list[str], verdict: str) -> None:
    """With every image on its storage, the factory is not asked."""
    (found,) = images.judge_silent(UnreachableError("no answer"), absent, "https://factory")
    assert found.verdict.value == verdict
    assert "no answer" in found.what


async def test_provider_mirror_holds_what_is_needed(tmp_path: Path) -> None:
    """A mirror that is set and empty is a finding; none at all is not."""

    async def seen(**given: object) -> list[str]:
        environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
        given_too = {name: str(value) for name, value in given.items()}
        return verdicts(await provider.look({**environment, **given_too}))

    folder = tmp_path / "registry.terraform.io/bpg/proxmox" / PROVIDER_VERSION
    assert await seen() == ["skipped"]
    assert await seen(TALOPS_PROVIDER_MIRROR=tmp_path / "none") == ["failed"]
    assert await seen(TALOPS_PROVIDER_MIRROR=tmp_path) == ["failed"]
    (folder / system()).mkdir(parents=True)
    assert await seen(TALOPS_PROVIDER_MIRROR=tmp_path) == ["passed"]
    assert await seen(TF_CLI_CONFIG_FILE=tmp_path / "none.tfrc") == ["failed"]
