"""The real etcdctl, which `talops backup create` is compared with; built once, as other tools."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from talops.toolchain.catalog import Build, Tool, catalog
from talops.toolchain.install import Toolchain
from talops.toolchain.version import Range

if TYPE_CHECKING:
    from pathlib import Path

NAME = "etcdctl"
MODULE = "go.etcd.io/etcd/etcdctl/v3"


async def etcdctl() -> Path:
    """Of the same release as etcd."""
    version = catalog()["etcd"].version
    tool = Tool(
        name=NAME,
        version=version,
        accepts=Range("3.5", "4"),
        programs=(NAME,),
        ask=("version",),
        release=None,
        build=Build(f"{MODULE} v{version}", (MODULE,)),
    )
    chain = Toolchain(os.environ, emit=lambda _: None, tools={NAME: tool})
    return (await chain.ensure(NAME)).path
