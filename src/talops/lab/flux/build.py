"""The output of `kustomize build`, for the features that the lab simulates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from talops.errors import TalopsError

if TYPE_CHECKING:
    from pathlib import Path

Object = dict[str, Any]
_PLAYED = {"apiVersion", "kind", "resources", "components", "namespace", "metadata"}
_FILES = ("kustomization.yaml", "kustomization.yml", "Kustomization")


def build(folder: Path, root: Path) -> list[Object]:
    """Every object below `folder`; like Flux, a folder without a kustomization takes all files."""
    if not folder.is_dir():
        raise TalopsError(f"kustomization path not found: {folder.relative_to(root)}")
    file = next((folder / name for name in _FILES if (folder / name).exists()), None)
    if file is None:
        paths = sorted(p for p in folder.rglob("*") if p.suffix in {".yaml", ".yml"})
        return [obj for path in paths for obj in _documents(path)]
    return _kustomized(file, folder, root)


def _kustomized(file: Path, folder: Path, root: Path) -> list[Object]:
    spec = (_documents(file) or [{}])[0]
    foreign = sorted(set(spec) - _PLAYED)
    if foreign:
        raise TalopsError(f"the lab does not simulate kustomize's {', '.join(foreign)}")
    objects: list[Object] = []
    for entry in [*(spec.get("resources") or []), *(spec.get("components") or [])]:
        path = (folder / entry).resolve()
        if not path.is_relative_to(root):
            raise TalopsError(f"{entry} leads out of the repository")
        objects += build(path, root) if path.is_dir() else _documents(path)
    return [_in_namespace(obj, spec.get("namespace")) for obj in objects]


def _in_namespace(obj: Object, name: str | None) -> Object:
    """Cluster-wide objects are distinguished when they are applied."""
    return {**obj, "metadata": {**obj["metadata"], "namespace": name}} if name else obj


def _documents(path: Path) -> list[Object]:
    try:
        text = path.read_text(encoding="utf-8")
        return [doc for doc in YAML(typ="safe").load_all(text) if isinstance(doc, dict)]
    except FileNotFoundError:
        raise TalopsError(f"{path.name} is missing") from None
    except (YAMLError, UnicodeDecodeError) as error:
        raise TalopsError(f"{path.name}: {str(error).splitlines()[0]}") from None
