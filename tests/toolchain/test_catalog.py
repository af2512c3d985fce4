"""The pins: one file, watched by Renovate, complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import talops.toolchain.catalog
from talops.toolchain.catalog import Tool, catalog, go_pin
from talops.toolchain.gobuild import module_file
from talops.toolchain.version import parse

PINS = Path(talops.toolchain.catalog.__file__).with_name("versions.toml").read_text("utf-8")
TOOLS = list(catalog().values())


def test_every_version_is_watched() -> None:
    """Each pinned version stands right below a renovate comment."""
    lines = PINS.splitlines()
    pinned = [i for i, line in enumerate(lines) if re.match(r'(version|"github.*) = ', line)]
    assert len(pinned) == len(TOOLS) + 2  # Go, and OpenTofu's fork of hcl
    assert all(lines[i - 1].startswith("# renovate: datasource=") for i in pinned)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_pin_is_whole(tool: Tool) -> None:
    """A pinned version is a version, fits its own range, and its digests are SHA-256."""
    number = parse(tool.version)
    assert number is not None
    assert number in tool.accepts
    assert len(tool.programs) == len(tool.build.packages)
    digests = tool.release.sha256.values() if tool.release else []
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in digests)


def test_go_wheels_are_pinned_too() -> None:
    """The Go that builds is pinned for both platforms."""
    assert set(go_pin().sha256) == {"linux-amd64", "linux-arm64"}


def test_kubernetes_parts_follow_its_version() -> None:
    """v1.X.Y of Kubernetes is made of v0.X.Y of its parts."""
    tool = catalog()["kube-apiserver"]
    text = module_file(tool.build, "1.26.0")
    part = "v0." + tool.version.removeprefix("1.")
    assert f"require k8s.io/kubernetes v{tool.version}" in text
    assert f"replace k8s.io/apiserver => k8s.io/apiserver {part}" in text
    assert "sample-" not in text


def test_tofu_keeps_its_own_replacement() -> None:
    """OpenTofu is built with its fork of hcl, as its makers build it."""
    text = module_file(catalog()["tofu"].build, "1.26.6")
    assert "replace github.com/hashicorp/hcl/v2 => github.com/opentofu/hcl/v2 v2.20.2" in text
    assert "godebug tlsmlkem=0" in text
