"""Options of talops behind `--`, where Taskfile and justfile put everything that a user adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class OwnFirst(TyperCommand):
    """`-- --everything` means the option of talops: the engine does not have one of that name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Moves options of this command before the `--`."""
        if "--" in args:
            cut = args.index("--")
            own, others = split(args[cut + 1 :], self.params)
            args = [*args[:cut], *own, "--", *others]
        return super().parse_args(ctx, args)


def split(words: Sequence[str], params: Iterable[Any]) -> tuple[list[str], list[str]]:
    """The options of `params` with their values, and the other words."""
    known = {name: param for param in params for name in param.opts if name.startswith("--")}
    own: list[str] = []
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        name, given, _ = word.partition("=")
        if name not in known:
            others.append(word)
            continue
        own.append(word)
        if not given and not known[name].is_flag:
            own += [value for value in [next(rest, None)] if value is not None]
    return own, others
