"""Image Factory schematics: the id is computed here, exactly as the factory computes it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from talops.errors import TalopsError
from talops.machineconfig import yamltext

EMPTY_ID = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"

# The factory's own order; a field that it does not know, it refuses.
_TOP = ("owner", "overlay", "customization")
_OVERLAY = ("image", "name", "options")
_CUSTOMIZATION = (
    "embeddedMachineConfiguration",
    "extraKernelArgs",
    "meta",
    "systemExtensions",
    "bootloader",
    "secureboot",
    "diskImage",
)
_NESTED = {
    "systemExtensions": ("officialExtensions",),
    "secureboot": ("includeWellKnownCertificates",),
}


@dataclass(frozen=True)
class Schematic:
    """What an image is made of; equal content gives an equal id on every machine."""

    extensions: tuple[str, ...] = ()
    kernel_args: tuple[str, ...] = ()

    def canonical(self) -> str:
        customization: dict[str, Any] = {
            "extraKernelArgs": list(self.kernel_args),
            "systemExtensions": {"officialExtensions": list(self.extensions)},
        }
        return canonical({"customization": customization})

    @property
    def id(self) -> str:
        return identify(self.canonical())


def identify(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(data: dict[str, Any], *, where: str = "schematic") -> str:
    """The one spelling of a schematic that its id is computed from."""
    ordered = _ordered(data, _TOP, where)
    if "overlay" in ordered:
        ordered["overlay"] = _ordered(ordered["overlay"], _OVERLAY, where)
    inner = _ordered(ordered.pop("customization", None) or {}, _CUSTOMIZATION, where)
    for name, fields in _NESTED.items():
        if name in inner:
            inner[name] = _ordered(inner[name], fields, where)
    # `customization` is always there, even when it is empty.
    return yamltext.dump(_without_empty(ordered) | {"customization": _without_empty(inner)})


def _ordered(data: Any, names: tuple[str, ...], where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise TalopsError(f"expected a mapping with {', '.join(names)}", where=where)
    unknown = sorted(str(name) for name in data if name not in names)
    if unknown:
        raise TalopsError(
            f"the Image Factory knows no field {unknown[0]!r}",
            where=where,
            hint=f"it knows {', '.join(names)}",
        )
    return {name: data[name] for name in names if name in data}


def _without_empty(data: dict[str, Any]) -> dict[str, Any]:
    kept = {
        key: _without_empty(value) if isinstance(value, dict) else value
        for key, value in data.items()
    }
    return {key: value for key, value in kept.items() if value not in ("", None, [], {}, False)}
