"""proxmox_download_file: a file that a node fetches into one of its storages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from talops.lab.provider import tasks
from talops.lab.provider.api import ApiError
from talops.lab.provider.kinds import Call, FailedError, Remark, Resource, refuse
from talops.lab.provider.schema import Attribute, Block
from talops.lab.provider.validation import matching, one_of

if TYPE_CHECKING:
    from talops.lab.provider.planning import Plan
    from talops.lab.provider.values import Values

_UNREADABLE = -1
_ALGORITHMS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")

_KEYS = {
    "checksum": "checksum",
    "checksum_algorithm": "checksum-algorithm",
    "content_type": "content",
    "datastore_id": "storage",
    "decompression_algorithm": "compression",
    "file_name": "filename",
    "node_name": "node",
    "url": "url",
}


class DownloadFile(Resource):
    name = "proxmox_download_file"
    block = Block(
        {
            "checksum": Attribute(force_new=True),
            "checksum_algorithm": Attribute(force_new=True, check=one_of(*_ALGORITHMS)),
            "content_type": Attribute(
                required=True, force_new=True, check=one_of("iso", "vztmpl", "import")
            ),
            "datastore_id": Attribute(required=True, force_new=True),
            "decompression_algorithm": Attribute(
                force_new=True, check=one_of("gz", "lzo", "zst", "bz2")
            ),
            "file_name": Attribute(computed=True, force_new=True, keep=True),
            "id": Attribute(readonly=True, keep=True),
            "node_name": Attribute(required=True, force_new=True),
            "overwrite": Attribute("bool", computed=True, default=True),
            "overwrite_unmanaged": Attribute("bool", computed=True, default=False),
            "size": Attribute("number", readonly=True, keep=True),
            "upload_timeout": Attribute("number", computed=True, default=600),
            "url": Attribute(
                required=True, force_new=True, check=matching(r"https?://.+", "an http(s) address")
            ),
            "verify": Attribute("bool", computed=True, default=True),
        }
    )

    def validate(self, config: Values) -> list[str]:
        if (config["checksum"] is None) != (config["checksum_algorithm"] is None):
            return ["checksum and checksum_algorithm go together"]
        return []

    def adjust(self, plan: Plan, prior: Values | None, _config: Values) -> None:
        """With `overwrite`, another size here or at the source is a reason to fetch again."""
        if prior is None or not plan.planned["overwrite"]:
            return
        before, at_source = plan.private.get("size"), plan.private.get("url_size")
        if before is not None and before != prior["size"]:
            plan.warnings.append(
                Remark("The file size in datastore has changed outside of terraform.")
            )
            self._fetch_again(plan, before)
        elif at_source is None or plan.planned["url"] != prior["url"]:
            return
        elif at_source == _UNREADABLE:
            plan.warnings.append(Remark("Could not read the file metadata from URL."))
        elif at_source != prior["size"]:
            plan.warnings.append(Remark("The file size from URL has changed."))
            self._fetch_again(plan, at_source)

    def _fetch_again(self, plan: Plan, size: int) -> None:
        plan.planned["size"] = size
        plan.replace.append(("size",))

    async def create(self, call: Call, planned: Values) -> Values:
        told = await self._metadata(call, planned)
        name = planned["file_name"] or told["filename"]
        await self._download(call, {**planned, "file_name": name})
        kind = f"{planned['content_type']}/{name}"
        state = {**planned, "file_name": name, "id": f"{planned['datastore_id']}:{kind}"}
        async for _ in tasks.ticks(5):
            size = await self._size(call, state)
            if size is not None:
                return {**state, "size": size}
        return refuse(f"{state['id']} is not in the datastore after its download")

    async def read(self, call: Call, state: Values) -> Values | None:
        size = await self._size(call, state)
        if size is None:
            call.warnings.append(
                Remark("The file does not exist in datastore and resource must be recreated.")
            )
            return None
        if state["size"] is not None:
            call.private["size"] = state["size"]
        if state["overwrite"]:
            call.private["url_size"] = await self._size_at_source(call, state)
        return {**state, "size": size}

    async def update(self, call: Call, _prior: Values, planned: Values) -> Values:
        """Nothing of the file itself can change here: only what is to be done about changes."""
        size = await self._size(call, planned)
        if size is None:
            refuse(f"{planned['id']} is not in the datastore")
        return {**planned, "size": size}

    async def delete(self, call: Call, prior: Values) -> None:
        await call.api.remove(_content(prior, prior["id"]))

    async def adopt(self, _call: Call, identity: str) -> Values:
        node, _, volume = identity.partition("/")
        store, _, file = volume.partition(":")
        kind, _, name = file.partition("/")
        if not (node and store and kind and name):
            refuse(f"expected NODE/DATASTORE:CONTENT/FILE to import, got {identity!r}")
        return {
            "id": volume,
            "node_name": node,
            "datastore_id": store,
            "content_type": kind,
            "file_name": name,
        }

    async def _download(self, call: Call, planned: Values) -> None:
        form = {key: planned[name] for name, key in _KEYS.items() if planned[name]}
        form["verify-certificates"] = "1" if planned["verify"] else "0"
        base = f"/nodes/{planned['node_name']}/storage/{planned['datastore_id']}"
        limit = float(planned["upload_timeout"])

        async def fetch() -> None:
            await tasks.run(call, "download", "POST", f"{base}/download-url", form, limit=limit)

        try:
            await fetch()
        except (ApiError, FailedError) as error:  # said at once, or by the task
            if "refusing to override existing file" not in error.what:
                raise
            if not planned["overwrite_unmanaged"]:
                refuse(
                    "File already exists in the datastore, it was created outside of Terraform "
                    "or is managed by another resource.",
                    f"{planned['file_name']}: {error.what}",
                )
            kind = f"{planned['content_type']}/{planned['file_name']}"
            await call.api.call("DELETE", _content(planned, kind))
            await fetch()

    async def _metadata(self, call: Call, state: Values) -> Values:
        query = {"url": state["url"], "verify-certificates": "1" if state["verify"] else "0"}
        path = f"/nodes/{state['node_name']}/query-url-metadata"
        data: Values = await call.api.get(path, query)
        return data

    async def _size_at_source(self, call: Call, state: Values) -> int:
        try:
            told = await self._metadata(call, state)
        except ApiError:
            return _UNREADABLE
        return int(told["size"])

    async def _size(self, call: Call, state: Values) -> int | None:
        path = f"/nodes/{state['node_name']}/storage/{state['datastore_id']}/content"
        found: Any = await call.api.get(path, {"content": state["content_type"]})
        return next((int(f["size"]) for f in found or [] if f["volid"] == state["id"]), None)


def _content(state: Values, volume: str) -> str:
    base = f"/nodes/{state['node_name']}/storage/{state['datastore_id']}"
    return f"{base}/content/{quote(volume, safe=':@')}"
