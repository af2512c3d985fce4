"""The mirror's HTTPS side, and the checksums that an inventory pins it with."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from aiohttp import web

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
    return version, "install.yaml", manifests.as_text(objects).encode()


class ReleasesService:
    name = "releases"

    def __init__(self, context: LabContext) -> None:
        self._authority = context.authority
        self._address = context.network.address(0, 3)
        self._contents = contents()
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get("/{name}/{file}", self._file)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        context = self._authority.server_context("releases", [self._address])
        await web.TCPSite(self._runner, self._address, PORT, ssl_context=context).start()

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()
            self._runner = None

    def endpoints(self) -> dict[str, Any]:
        return {
            name: {
                "version": version,
                "url": f"https://{self._address}:{PORT}/{name}/{file}",
                "sha256": hashlib.sha256(content).hexdigest(),
            }
            for name, (version, file, content) in self._contents.items()
        }

    async def _file(self, request: web.Request) -> web.Response:
        found = self._contents.get(request.match_info["name"])
        if found is None or found[1] != request.match_info["file"]:
            return web.Response(status=404, text="not found\n")
        return web.Response(body=found[2], content_type="application/octet-stream")
