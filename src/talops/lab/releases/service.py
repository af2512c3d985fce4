"""The mirror's HTTPS side, and the checksums that an inventory pins it with."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from aiohttp import web

from talops.lab.https import HttpsSite
from talops.lab.releases import charts, manifests

if TYPE_CHECKING:
    from talops.lab.context import LabContext

PORT = 8445


def contents() -> dict[str, tuple[str, str, bytes]]:
    """Release → version, file name, content."""
    found: dict[str, tuple[str, str, bytes]] = {
        "flux": _manifest(manifests.FLUX, manifests.flux()),
        "flux-operator": _manifest(manifests.OPERATOR, manifests.operator()),
    }
    for name in charts.WORKLOADS:
        file = f"{name}-{charts.VERSION}.tgz"
        found[name] = (charts.VERSION, file, charts.chart(name))
    return found


def _manifest(version: str, objects: list[dict[str, Any]]) -> tuple[str, str, bytes]:
    return version, "install.yaml", manifests.as_manifest(objects).encode()


class ReleasesService:
    name = "releases"

    def __init__(self, context: LabContext) -> None:
        address = context.network.address(0, 3)
        self._site = HttpsSite(context.authority, self.name, address, PORT)
        self._contents = contents()

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get("/{name}/{file}", self._file)
        await self._site.start(app)

    async def stop(self) -> None:
        await self._site.stop()

    def endpoints(self) -> dict[str, Any]:
        return {
            name: {
                "version": version,
                "url": f"{self._site.url}/{name}/{file}",
                "sha256": hashlib.sha256(content).hexdigest(),
            }
            for name, (version, file, content) in self._contents.items()
        }

    async def _file(self, request: web.Request) -> web.Response:
        found = self._contents.get(request.match_info["name"])
        if found is None or found[1] != request.match_info["file"]:
            return web.Response(status=404, text="not found\n")
        return web.Response(body=found[2], content_type="application/octet-stream")
