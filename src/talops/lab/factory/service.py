"""The factory's HTTP side."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING, Any

from aiohttp import web
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from talops.files import write_atomic
from talops.lab.factory import images
from talops.lab.factory.catalogue import EXTENSIONS, VERSIONS, extensions_of
from talops.lab.factory.schematic import SchematicError, canonical, schematic_id
from talops.lab.https import HttpsSite

if TYPE_CHECKING:
    from talops.lab.context import LabContext

PORT = 8443


class FactoryService:
    """Stores posted schematics; everything else is computed."""

    name = "factory"

    def __init__(self, context: LabContext) -> None:
        self._layout = context.layout
        address = context.network.address(0, 2)
        self._site = HttpsSite(context.authority, self.name, address, PORT)

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/schematics", self._create)
        app.router.add_get("/schematics/{id}", self._read)
        app.router.add_get("/versions", self._versions)
        app.router.add_get("/version/{version}/extensions/official", self._extensions)
        app.router.add_get("/image/{id}/{version}/{file}", self._image)
        self.remember(canonical({}))
        await self._site.start(app)

    async def stop(self) -> None:
        await self._site.stop()

    def endpoints(self) -> dict[str, Any]:
        return {"url": self._site.url}

    def remember(self, text: str) -> str:
        name = schematic_id(text)
        write_atomic(self._layout.state(self.name) / f"{name}.yaml", text)
        return name

    def _schematic(self, name: str) -> str | None:
        path = self._layout.state(self.name) / f"{name}.yaml"
        return path.read_text(encoding="utf-8") if path.exists() else None

    async def _create(self, request: web.Request) -> web.Response:
        try:
            raw = YAML(typ="safe", pure=True).load(StringIO(await request.text()))
            text = canonical(raw)
        except (YAMLError, SchematicError) as error:
            return web.Response(status=400, text=f"yaml: unmarshal errors:\n  {error}\n")
        unknown = _unknown_extension(raw)
        if unknown:
            return web.Response(
                status=400, text=f"official extension {unknown!r} is not available\n"
            )
        return web.json_response({"id": self.remember(text), "schematic": text}, status=201)

    async def _read(self, request: web.Request) -> web.Response:
        text = self._schematic(request.match_info["id"])
        if text is None:
            return web.Response(status=404, text="schematic not found\n")
        return web.Response(text=text, content_type="application/yaml")

    async def _versions(self, _: web.Request) -> web.Response:
        return web.json_response(list(VERSIONS))

    async def _extensions(self, request: web.Request) -> web.Response:
        version = request.match_info["version"]
        if version not in VERSIONS:
            return web.Response(status=404, text=f"version {version} is not available\n")
        return web.json_response(extensions_of(version))

    async def _image(self, request: web.Request) -> web.Response:
        info = request.match_info
        schematic = self._schematic(info["id"])
        if schematic is None:
            return web.Response(status=404, text="schematic not found\n")
        if info["version"] not in VERSIONS:
            return web.Response(status=404, text=f"version {info['version']} is not available\n")
        image = images.parse(info["id"], info["version"], info["file"])
        if image is None:
            return web.Response(status=400, text=f"unknown image {info['file']!r}\n")
        image = replace(
            image, extensions=tuple(_extensions(YAML(typ="safe", pure=True).load(schematic)))
        )
        headers = {"Content-Disposition": f'attachment; filename="{info["file"]}"'}
        return web.Response(
            body=image.content(), headers=headers, content_type="application/octet-stream"
        )


def _extensions(raw: Any) -> list[str]:
    customization = (raw or {}).get("customization") or {}
    wanted = (customization.get("systemExtensions") or {}).get("officialExtensions") or []
    return [str(name) for name in wanted]


def _unknown_extension(raw: Any) -> str | None:
    return next((name for name in _extensions(raw) if name not in EXTENSIONS), None)
