"""The name of each value: `--only STAGE` instead of `--only <list[str]>`."""

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
    "DIR": ("--directory", "--dir", "--tls-self-made"),
}  # fmt: skip
_WORDS = {flag: word for word, flags in _BY_FLAG.items() for flag in flags}
_BY_KIND = {int: "N", float: "NUMBER", Path: "PATH"}


def name_values(command: Any) -> None:
    """Name the values of all commands; typer adds options such as `--help` when it shows them."""
    every = command.get_params

    def named(ctx: Any) -> Any:
        params = every(ctx)
        for param in params:
            _name(param)
        return params

    command.get_params = named
    for param in command.params:
        _name(param)
    for child in getattr(command, "commands", {}).values():
        name_values(child)


def _name(param: Any) -> None:
    if param.param_type_name == "argument":
        param.metavar = param.metavar or argument_name(param)
        if not param.type_descriptor.is_choice:
            param.display_type_rich = _no_type
    elif getattr(param, "is_flag", False):
        param.display_type_rich = _no_type
    elif (kind := _kind(param)) and not param.metavar:
        param.metavar = _word(param.opts, kind)


def argument_name(param: Any) -> str:
    """ID of an argument that Python calls `id_`."""
    return str(param.name).rstrip("_").upper()


def _no_type(ctx: Any) -> None:
    """Flags have no value, and the name of an argument says more than its Python type."""


def _kind(param: Any) -> type | None:
    """The type of one value; None for choices."""
    annotation = param.type_descriptor.annotation
    kind = next(iter(getattr(annotation, "__args__", ())), annotation)
    return kind if isinstance(kind, type) and not issubclass(kind, Enum) else None


def _word(flags: list[str], kind: type) -> str:
    if kind is not int:  # `--workers 3` is a number, `--workers a,b` are nodes
        for flag in reversed(flags):
            if flag in _WORDS:
                return _WORDS[flag]
    return _BY_KIND.get(kind, "TEXT")
