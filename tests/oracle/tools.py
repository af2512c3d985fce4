"""The Talos library as a program: which versions of it judge, and how they are built.

A test tool, so it stands here and not in the catalog of talops. It is cached like the others, by
the library's version and the hash of our own source.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from talops.toolchain.catalog import OWN, Build, Tool
from talops.toolchain.version import Range

MODULE = "github.com/siderolabs/talos/pkg/machinery"
SOURCES = tuple(sorted((Path(__file__).parent / "program").glob("*.go")))
# Talos' minor version → the release whose library stands for it.
LIBRARIES = {"1.13": "1.13.9", "1.14": "1.14.1"}
# Versions of dependencies that the module proxy has, where it lacks those the library asks for.
REPLACED = {
    "1.14": (
        ("github.com/cosi-project/runtime", "github.com/cosi-project/runtime v1.16.2"),
        ("github.com/jsimonetti/rtnetlink/v2", "github.com/jsimonetti/rtnetlink/v2 v2.2.0"),
    )
}


@cache
def oracle_tools() -> dict[str, Tool]:
    tools = (_tool(minor, version) for minor, version in LIBRARIES.items())
    return {tool.name: tool for tool in tools}


def tool_name(minor: str) -> str:
    return f"talos-oracle-{minor}"


def _tool(minor: str, version: str) -> Tool:
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in SOURCES)).hexdigest()
    name = tool_name(minor)
    return Tool(
        name=name,
        version=f"{version}-{digest[:12]}",
        accepts=Range(version, version),
        programs=(name,),
        ask=(),
        release=None,
        build=Build(
            f"{MODULE} v{version}",
            (OWN,),
            replace=REPLACED.get(minor, ()),
            sources=SOURCES,
        ),
    )
