"""A cluster looked at from all sides, changed behind talops' back, and repaired."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.cli.recorded import compare_known, keys_of

from talops.site.state.passphrase import KEY as PASSPHRASE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]


async def test_verify_drift_and_support(make_lab: MakeLab) -> None:
    """One cluster from before its birth to a repaired difference."""
    async with make_lab(control_planes=1, workers=1) as lab:
        keyless = await lab.talops("preflight")
        assert keyless.code == 4, keyless.everything
        assert "age key" in keyless.out
        assert (await lab.talops("secrets", "init")).code == 0
        await lab.keep((PASSPHRASE,))  # most of the time of each OpenTofu is stretching it
        before = await lab.talops("preflight", "-o", "json")
        assert before.code == 0, before.everything
        answers = {"preflight": keys_of(before.code, before.out)}
        nothing = await lab.talops("verify")
        assert nothing.code == 1, nothing.everything
        assert "next: talops up" in nothing.err

        made = await lab.talops("up", "--yes", "-o", "json")
        assert made.code == 0, made.everything
        answers["up"] = keys_of(made.code, made.out)
        (run,) = (lab.root / ".talops" / "runs").iterdir()
        assert "e2e-cp-1" in (run / "report.html").read_text(encoding="utf-8")

        verified = await lab.talops("verify", "--smoke", "-o", "json")
        assert verified.code == 0, verified.everything
        verdicts = {c["name"]: c["verdict"] for c in json.loads(verified.out)["checks"]}
        assert verdicts["etcd"] == verdicts["nodes"] == verdicts["members"] == "passed"
        assert verdicts["smoke"] == "unproven", "no pod runs here, and nobody may claim it does"

        answers["verify"] = keys_of(verified.code, verified.out)

        # The commands that hints name work by what `up` left behind.
        assert (await lab.talops("talos", "health")).code == 0
        calm = await lab.talops("drift", "-o", "json")
        assert calm.code == 0, calm.everything
        answers["drift"] = keys_of(calm.code, calm.out)
        for words in ("runs show", "state list", "talos services", "talos etcd members"):
            found = await lab.talops(*words.split(), "-o", "json")
            answers[words] = keys_of(found.code, found.out)
        await _add_label(lab)
        await _differs_and_is_repaired(lab)

        bundle = await lab.talops("support", "--out", "bundle.tar.gz", "-o", "json")
        assert bundle.code == 0, bundle.everything
        assert json.loads(bundle.out)["secrets_looked_for"] > 5
        compare_known("lab", answers)


async def _add_label(lab: Any) -> None:
    nodes = lab.root / "nodes.yaml"
    text = nodes.read_text(encoding="utf-8").rstrip("\n")
    nodes.write_text(f"{text}\n    labels:\n      example.com/zone: a\n", encoding="utf-8")


async def _differs_and_is_repaired(lab: Any) -> None:
    broken = await lab.talops("verify", "-o", "junit")
    assert broken.code == 1, broken.everything
    assert ET.fromstring(broken.out).attrib["failures"] == "1"
    drift = await lab.talops("drift", "--layer", "talos", "--layer", "kubernetes", "-o", "json")
    assert drift.code == 2, drift.everything
    layers = {layer["layer"]: layer["differences"] for layer in json.loads(drift.out)["layers"]}
    assert [d["attribute"] for d in layers["talos"]] == ["KubeNodeConfig.labels"]
    assert [d["attribute"] for d in layers["kubernetes"]] == ["label example.com/zone"]
    fixed = await lab.talops("drift", "--fix")
    assert fixed.code == 0, fixed.everything
