"""OpenTofu begins to plan before talops has loaded what the other stages need."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from talops.pipeline.stage import Reporter
from talops.site.resource_progress import ResourceProgress
from talops.stages.provision import Provision
from talops.tofu.events import LayerStarted, TofuLine

HEAVY = ("grpclib", "google.protobuf", "websockets", "talops.kube.client", "talops.proxmox.client")


def test_nothing_of_the_others_is_loaded_first() -> None:
    """Neither `up` nor its `provision` bring the clients of nodes, Kubernetes or a NAS."""
    code = "import sys, talops.workflows.up; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "talops.tofu.engine" in loaded
    assert [name for name in loaded if name.startswith("talops.stages.")] == [
        "talops.stages.configure",
        "talops.stages.provision",
    ]
    assert [name for name in HEAVY if name in loaded] == []


async def test_under_way_with_the_first_word() -> None:
    """The turn of a layer is not a sign of life yet."""
    nothing: Any = None
    report = Reporter("provision", lambda _: None)
    stage = Provision(nothing, nothing, report)
    hear = stage._hear(ResourceProgress(report))
    hear(LayerStarted("02-platforms/demo", "plan"))
    assert not stage.under_way.is_set()
    hear(TofuLine("02-platforms/demo", "OpenTofu 1.12.6"))
    assert stage.under_way.is_set()
