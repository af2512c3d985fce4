"""The objects of Flux itself: from its release, its command line, or its operator."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

from talops.delivery.releases import fetch
from talops.errors import ToolError
from talops.gitops import flux
from talops.gitops.catalog import source
from talops.gitops.placing import placed
from talops.kube.objects import Object, read_manifest

if TYPE_CHECKING:
    from talops.site.site import Site


async def objects(site: Site, how: str) -> tuple[str, list[Object]]:
    """A title for what is installed, and its objects in an order that can be applied."""
    if how == "cli":
        return "flux from the flux command line", await _exported(site)
    chosen = source(site.cluster, "flux" if how == "manifest" else "flux-operator")
    text = (await fetch(chosen, site.root)).decode(errors="replace")
    return chosen.title, placed(read_manifest(text, chosen.url), chosen.namespace)


def instance(site: Site) -> Object:
    """With the operator, Flux is one more object; `releases` or talops defines its version."""
    from talops.gitops.catalog import known

    own = site.cluster.releases.get("flux")
    return flux.flux_instance((own.version if own else known("flux").version).removeprefix("v"))


async def _exported(site: Site) -> list[Object]:
    program = shutil.which("flux", path=site.environment.get("PATH", ""))
    if program is None:
        raise ToolError(
            "gitops.install is cli, but flux is not on PATH",
            hint="install the flux command line, or set gitops.install: manifest in cluster.yaml",
        )
    process = await asyncio.create_subprocess_exec(
        program,
        "install",
        "--export",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": site.environment.get("PATH", ""), "HOME": "/nonexistent"},
    )
    out, err = await process.communicate()
    if process.returncode:
        lines = err.decode(errors="replace").strip().splitlines()
        raise ToolError(f"flux install --export failed: {lines[-1:]}", where=program)
    return placed(read_manifest(out.decode(), program), flux.NAMESPACE)
