"""Random and damaged sources: a clear error or a listed key, never a traceback."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.importing import sources, talhelper_samples, template_samples, topf_samples

from talops.errors import TalopsError
from talops.importing.proposal import propose

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle

TOOLS = {
    "talhelper": (talhelper_samples.files, tuple(talhelper_samples.SAMPLES), "talconfig.yaml"),
    "topf": (topf_samples.files, tuple(topf_samples.SAMPLES), "topf.yaml"),
    "cluster-template": (template_samples.files, template_samples.SAMPLES, "talos/topf.yaml"),
}
SEEDS = 200
# A seeded sample of them; `make chaos` runs all.
FEW = 12
_WORDS = ("null", "[]", "{}", "3", "true", "''", "a: b", "[1, {x: y}]", "!!binary x", "*gone", "'")


def without_a_line(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    del lines[rng.randrange(len(lines))]
    return "".join(lines)


def with_another_value(text: str, rng: random.Random) -> str:
    lines = text.splitlines()
    places = [n for n, line in enumerate(lines) if ": " in line] or [0]
    place = rng.choice(places)
    lines[place] = f"{lines[place].partition(': ')[0]}: {rng.choice(_WORDS)}"
    return "\n".join(lines) + "\n"


def cut(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text))]


def with_garbage(text: str, rng: random.Random) -> str:
    place = rng.randrange(len(text))
    return text[:place] + rng.choice("\t{}[]:&*!|>%@`\x00\u2028${{ ") + text[place:]


def untouched(text: str, _: random.Random) -> str:
    return text


DAMAGES: tuple[Callable[[str, random.Random], str], ...] = (
    *(without_a_line, with_another_value, with_another_value, cut, with_garbage, untouched),
)


def damaged(seed: int, bundle: Bundle, folder: Path) -> str:
    """Writes a source with one damaged file, and returns the name of its tool."""
    rng = random.Random(seed)
    tool = rng.choice(sorted(TOOLS))
    make, sizes, _ = TOOLS[tool]
    size = rng.choice([size for size in sizes if size != "talhelper"])
    files = make(size, bundle)
    name = rng.choice(sorted(files))
    damage = rng.choice(DAMAGES)
    files[name] = damage(files[name], rng)
    sources.write(folder, files)
    return tool


def survive(seed: int, bundle: Bundle, folder: Path) -> str:
    tool = damaged(seed, bundle, folder)
    try:
        proposal = propose(sources.found_in(tool, folder))
    except TalopsError:
        return "refused"
    assert proposal.differences == ()
    return "imported"


@pytest.mark.parametrize("seed", range(FEW))
def test_damage_is_no_traceback(seed: int, bundle: Bundle, tmp_path: Path) -> None:
    """A damaged source is imported without a difference, or refused with an error."""
    survive(seed, bundle, tmp_path)


@pytest.mark.chaos
@pytest.mark.timeout(900)
def test_damage_of_many_seeds(bundle: Bundle, tmp_path: Path) -> None:
    """200 seeds, and both outcomes occur."""
    outcomes = [survive(seed, bundle, tmp_path / str(seed)) for seed in range(SEEDS)]
    assert set(outcomes) == {"imported", "refused"}


@pytest.mark.parametrize("tool", ["talhelper", "topf"])
def test_unknown_keys_have_their_line(tool: str, bundle: Bundle, tmp_path: Path) -> None:
    """At the top, and in a node."""
    make, _, name = TOOLS[tool]
    files = make("single", bundle)
    lines = files[name].splitlines()
    node = next(n for n, line in enumerate(lines) if line.startswith("  - host"))
    lines.insert(node + 1, "    inventedForNode: 1")
    lines.append("inventedForCluster: {a: b}")
    files[name] = "\n".join(lines) + "\n"
    found = sources.found_in(tool, sources.write(tmp_path, files))
    assert {left.key: left.where.line for left in found.left} == {
        "nodes[0].inventedForNode": node + 2,
        "inventedForCluster": len(lines),
    }


def test_unknown_keys_of_toml_have_their_line(bundle: Bundle, tmp_path: Path) -> None:
    """cluster.toml too, although its parser keeps no positions."""
    files = template_samples.files("single", bundle)
    files["cluster.toml"] = '[network]\nnode_cidr = "10.70.0.0/24"\nodd = 1\n[other]\nx = 2\n'
    found = sources.found_in("cluster-template", sources.write(tmp_path, files))
    lines = {left.key: left.where.line for left in found.left}
    assert (lines["network.odd"], lines["other"]) == (3, 4)


def test_secrets_of_another_cluster_are_refused(bundle: Bundle, tmp_path: Path) -> None:
    """A secrets file next to machine configs must be theirs."""
    from dataclasses import replace

    from tests.importing import talosctl_samples

    from talops.redaction import Secret

    files = talosctl_samples.files("ha", bundle)
    other = replace(bundle, cluster_secret=Secret("b3RoZXI="))
    files["secrets.yaml"] = other.to_yaml()
    with pytest.raises(TalopsError, match="not those of the machine configs"):
        sources.found_in("talosctl", sources.write(tmp_path, files))
