"""The options of all `infra` commands; a command declares only its own."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from talops.cli.infra.own_options import OwnFirst
from talops.cli.options import Directory, Format, Output

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from talops.app.infra.layers import OpenLayers

Layers = Annotated[
    list[str] | None,
    typer.Option("--layer", help="Only this layer; repeatable (default: all, in order)."),
]
Tofu = Annotated[
    str | None, typer.Option("--tofu", help="Engine to run: tofu, terraform, or a path.")
]
_COMMON: dict[str, Any] = {"directory": Directory, "layer": Layers, "tofu": Tofu}


@dataclass(frozen=True)
class Asked:
    """The common part of a command line; `extra` are the arguments after `--`."""

    directory: Path
    layers: list[str] | None
    tofu: str | None
    output: Format
    extra: list[str]

    @property
    def json(self) -> bool:
        return self.output is Format.JSON

    def run(self) -> AbstractContextManager[OpenLayers]:
        """Progress goes to stderr, or to stdout as JSON lines if those are the result."""
        return self._context(self.output)

    def quietly(self) -> AbstractContextManager[OpenLayers]:
        """For commands whose result is a document."""
        return self._context(Format.TEXT)

    def offline(self) -> AbstractContextManager[OpenLayers]:
        """For commands that read only files, and work without the place of the states."""
        return self._context(Format.TEXT, offline=True)

    def _context(
        self, output: Format, *, offline: bool = False
    ) -> AbstractContextManager[OpenLayers]:
        from talops.cli.infra.opening import opened

        return opened(self.directory, self.layers, output, self.tofu, offline=offline)


def command(
    app: typer.Typer, name: str | None = None, *, extra: bool = False, output: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`extra`: pass arguments after `--` to the engine. `output`: the command prints a result."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        def call(ctx: typer.Context, **given: Any) -> None:
            asked = Asked(
                given.pop("directory"),
                given.pop("layer"),
                given.pop("tofu"),
                given.pop("output", Format.TEXT),
                ctx.args,
            )
            function(asked, **given)

        common = {**_COMMON, "output": Output} if output else _COMMON
        call.__doc__ = function.__doc__
        call.__signature__ = _signature(function, common)  # type: ignore[attr-defined]  # typer reads it
        settings = {"allow_extra_args": True} if extra else {}
        kind = OwnFirst if extra else None
        app.command(name or function.__name__, cls=kind, context_settings=settings)(call)
        return function

    return register


def _signature(function: Callable[..., None], common: dict[str, Any]) -> inspect.Signature:
    """The parameters of the command first, as in its usage line; then the common ones."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    hints = get_type_hints(function, include_extras=True)
    own = [
        parameter.replace(kind=keyword, annotation=hints[parameter.name])
        for parameter in list(inspect.signature(function).parameters.values())[1:]
    ]
    usual = {"output": Format.TEXT}
    rest = [
        inspect.Parameter(name, keyword, default=usual.get(name), annotation=annotation)
        for name, annotation in common.items()
    ]
    ctx = inspect.Parameter(
        "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    return inspect.Signature([ctx, *own, *rest])
