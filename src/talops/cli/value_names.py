"""The value name of each flag: `--only STAGE` instead of `--only <list[str]>`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any

# Value name → flags that take it in all commands; an option's own `metavar` takes precedence.
_BY_FLAG = {
    "STAGE": ("--only", "--skip", "--until", "--stage"),
    "NAME": (
        "--name", "--cluster", "--node", "--allow-replace", "--allow-destroy", "--account",
        "--token-name", "--proxmox-node", "--context", "--namespace", "--host", "--extension",
    ),
    "LAYER": ("--layer",),
    "CIDR": ("--cidr",),
    "URL": ("--proxmox-url", "--factory"),
    "ADDRESS:PORT": ("--listen",),
    "SHA256": ("--cert-fingerprint",),
    "A,B,…": ("-n", "-e", "--nodes", "--endpoints", "--workers", "--control-planes"),
    "PATTERN": ("--read", "--write"),
    "DURATION": ("--wait", "--interval"),
    "SECONDS": ("--pace", "--timeout"),
    "VERSION": ("--contract", "--truenas", "--version"),
    "AGE_RECIPIENT": ("--recipient",),
    "PROGRAM": ("--tofu",),
    "STORE": ("--store",),
    "DIRECTORY": ("--directory", "--dir", "--tls-self-made"),
}  # fmt: skip
_WORDS = {flag: word for word, flags in _BY_FLAG.items() for flag in flags}
_BY_KIND = {int: "N", float: "NUMBER", Path: "PATH"}


def name_values(command: Any) -> None:
    for param in command.params:
        kind = _kind(param)
        if kind and not param.metavar:
            param.metavar = _word(param.opts, kind)
    for child in getattr(command, "commands", {}).values():
        name_values(child)


def _kind(param: Any) -> type | None:
    """The type of one value; None for flags without one, for choices, and for arguments."""
    if param.param_type_name != "option" or getattr(param, "is_flag", False):
        return None
    annotation = param.type_descriptor.annotation
    kind = next(iter(getattr(annotation, "__args__", ())), annotation)
    return kind if isinstance(kind, type) and not issubclass(kind, Enum) else None


def _word(flags: list[str], kind: type) -> str:
    if kind is not int:  # `--workers 3` is a number, `--workers a,b` are nodes
        for flag in reversed(flags):
            if flag in _WORDS:
                return _WORDS[flag]
    return _BY_KIND.get(kind, "TEXT")
