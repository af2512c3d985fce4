"""The layers under infrastructure/: find, order and select them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.layer import FOLDER, Layer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SINGLE = ("01-hypervisors",)
GROUPS = ("02-platforms", "03-legacy")
# Configuration that OpenTofu reads in a layer's directory.
ENDINGS = (".tf", ".tofu", ".tf.json")


def find_layers(root: Path) -> list[Layer]:
    """Every layer with configuration files, in the order of apply."""
    base = root / FOLDER
    candidates: list[Path] = [base / name for name in SINGLE]
    for group in GROUPS:
        folder = base / group
        candidates += sorted(folder.iterdir()) if folder.is_dir() else []
    return [Layer(str(path.relative_to(base)), root) for path in candidates if _is_layer(path)]


def choose(layers: Sequence[Layer], wanted: Iterable[str] | None, root: Path) -> list[Layer]:
    """The named layers in order, or all layers. A layer matches its name, its last part, or the
    name of its group.
    """
    if not layers:
        raise TalopsError(
            "no OpenTofu layers found",
            where=str(root / FOLDER),
            hint="talops configure",
        )
    names = list(wanted or [])
    if not names:
        return list(layers)
    for name in names:
        if not any(_answers(layer, name) for layer in layers):
            known = ", ".join(layer.name for layer in layers)
            raise TalopsError(f"layer {name} does not exist", hint=f"choose from: {known}")
    return [layer for layer in layers if any(_answers(layer, name) for name in names)]


def _answers(layer: Layer, name: str) -> bool:
    wanted = name.strip("/").removeprefix(f"{FOLDER}/")
    short = layer.name.split("-", maxsplit=1)[1]
    return wanted in {layer.name, layer.name.split("/")[0], Path(layer.name).name, short}


def _is_layer(path: Path) -> bool:
    return path.is_dir() and any(next(path.glob(f"*{ending}"), None) for ending in ENDINGS)
