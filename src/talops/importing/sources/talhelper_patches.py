"""Patches, files and manifests of talhelper: inline, or `@file` with variables and templates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.importing.sources.files import bounds
from talops.importing.sources.gotemplates import render
from talops.importing.sources.variables import substitute
from talops.machineconfig import yamltext
from talops.machineconfig.patches.reading import apply_patches, parse_patch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from talops.importing.model import Document
    from talops.importing.sources.files import Parsed, Source
    from talops.machineconfig.contract import Contract

Loc = tuple[str | int, ...]


@dataclass(frozen=True)
class Patcher:
    source: Source
    folder: Path
    variables: Mapping[str, str]
    contract: Contract

    def apply(
        self, documents: list[Document], patches: Any, config: Parsed, loc: Loc
    ) -> list[Document]:
        if not patches:
            return documents
        if not isinstance(patches, list):
            raise config.error(loc, "patches is not a list")
        data = _template_data(documents[0])
        found = []
        for place, given in enumerate(patches):
            where = str(config.where((*loc, place)))
            if not isinstance(given, str):
                raise config.error((*loc, place), "this patch is not a string")
            text, name = self._text(given, data, where)
            if text.strip():
                found.append(parse_patch(text, where=name))
        return apply_patches(documents, found, self.contract)

    def _text(self, given: str, data: Mapping[str, Any], where: str) -> tuple[str, str]:
        """Of a file: first its templates, then its variables; inline ones are replaced already."""
        if not given.startswith("@"):
            return render(given, data, where), where
        path = self._path(given, where)
        text = self.source.text(path)
        self._remember(path, text)
        name = self.source.name_of(path)
        return substitute(render(text, data, name), self.variables, name), name

    def _path(self, given: str, where: str) -> Path:
        path = (self.folder / given.removeprefix("@").strip()).resolve()
        if not path.is_relative_to(bounds(self.source.root)):
            raise TalopsError(
                f"{given} is outside of the source",
                where=where,
                hint="copy it into the source, and correct the path there",
            )
        if not path.is_file():
            raise TalopsError(f"the file {given.removeprefix('@')} does not exist", where=where)
        return path

    def _remember(self, path: Path, text: str) -> None:
        """Every value of an encrypted file is secret."""
        if self.source.is_sealed(path):
            lines = (line.partition(":")[2].strip().strip("'\"") for line in text.splitlines())
            self.source.secret_values.update(line for line in lines if len(line) > 3)  # noqa: PLR2004

    def rendered(self, given: Any, machine: Document, config: Parsed, loc: Loc) -> Any:
        """Labels and annotations are templates, too."""
        if not isinstance(given, dict):
            return given
        data = _template_data({"machine": machine})
        return {
            key: render(value, data, str(config.where((*loc, key)))).strip()
            if isinstance(value, str) and "{{" in value
            else value
            for key, value in given.items()
        }

    def files(self, given: Any, config: Parsed, loc: Loc) -> list[dict[str, Any]]:
        found = []
        for place, item in enumerate(given if isinstance(given, list) else []):
            if not isinstance(item, dict):
                raise config.error((*loc, place), "this file is not a mapping")
            own = {key: value for key, value in item.items() if key != "skipEnvsubst"}
            where = str(config.where((*loc, place)))
            own["content"] = self._content(item.get("content"), item, where)
            found.append(own)
        return found

    def inline_manifests(self, given: Any, config: Parsed) -> list[dict[str, Any]]:
        found = []
        for place, item in enumerate(given if isinstance(given, list) else []):
            loc = ("inlineManifests", place)
            if not isinstance(item, dict):
                raise config.error(loc, "this manifest is not a mapping")
            contents = self._content(item.get("contents"), item, str(config.where(loc)))
            found.append({"name": item.get("name"), "contents": contents})
        return found

    def _content(self, text: Any, item: dict[str, Any], where: str) -> str:
        if not isinstance(text, str) or not text.startswith("@"):
            return str(text or "")
        path = self._path(text, where)
        content = self.source.text(path)
        self._remember(path, content)
        if item.get("skipEnvsubst"):
            return content
        return substitute(content, self.variables, self.source.name_of(path))

    def manifests(self, given: Any, config: Parsed, loc: Loc) -> list[Document]:
        found: list[Document] = []
        for place, name in enumerate(given if isinstance(given, list) else []):
            where = str(config.where((*loc, "extraManifests", place)))
            path = self._path(str(name), where)
            text = self.source.text(path)
            self._remember(path, text)
            loaded = yamltext.load_all(text, where=self.source.name_of(path))
            found += [document for document in loaded if isinstance(document, dict)]
        return found


def _template_data(main: Document) -> dict[str, Any]:
    """The names of Go for what patches ask for most."""
    machine, cluster = main.get("machine") or {}, main.get("cluster") or {}
    install = machine.get("install") or {}
    return {
        "MachineConfig": {
            "MachineType": machine.get("type"),
            "MachineInstall": {
                "InstallImage": install.get("image"),
                "InstallDisk": install.get("disk"),
            },
            "MachineNetwork": {
                "NetworkHostname": (machine.get("network") or {}).get("hostname", "")
            },
            "MachineNodeLabels": machine.get("nodeLabels") or {},
        },
        "ClusterConfig": {
            "ClusterName": cluster.get("clusterName"),
            "ControlPlane": {"Endpoint": (cluster.get("controlPlane") or {}).get("endpoint")},
        },
    }
