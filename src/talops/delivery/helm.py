"""`helm template`: turn a chart and values into plain objects; helm never contacts a cluster."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError, ToolError
from talops.toolchain.install import Toolchain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.gitops.catalog import Source
    from talops.site.site import Site


async def render(
    site: Site, source: Source, chart: bytes, values: Mapping[str, Any], user: str | None = None
) -> str:
    """`values` are those of talops; the user's values file overrides them."""
    helm = (await Toolchain(site.environment).ensure("helm")).path
    with tempfile.TemporaryDirectory(prefix="talops-helm-") as folder:
        home = Path(folder)
        file = home / "chart.tgz"
        file.write_bytes(chart)
        words = [
            "template",
            source.name,
            str(file),
            *("--namespace", source.namespace, "--include-crds", "--skip-tests"),
            *("--kube-version", site.cluster.kubernetes_version, "--values", "-"),
            *(("--values", str(_values_file(site, user))) if user else ()),
        ]
        return await _run(helm, words, json.dumps(values), home, source)


def _values_file(site: Site, name: str) -> Path:
    path = site.root / name
    if not path.is_file():
        raise TalopsError(
            "the Helm values file does not exist",
            where=str(path),
            hint="correct cni.values in cluster.yaml",
        )
    return path


async def _run(helm: Path, words: list[str], values: str, home: Path, source: Source) -> str:
    process = await asyncio.create_subprocess_exec(
        str(helm),
        *words,
        # No cache, plugins or settings of the user: the same input gives the same objects.
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = await process.communicate(values.encode())
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        lines = err.decode(errors="replace").strip().splitlines()
        raise ToolError(
            f"helm cannot render {source.title}: {lines[-1] if lines else process.returncode}",
            where=source.url,
            hint="check the values with helm template",
        )
    return out.decode()
