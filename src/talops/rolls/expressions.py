"""CEL expressions on Kubernetes objects, evaluated by the library `common-expression-language`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.kube.objects import Object


def holds(expression: str, obj: Object, gate: str) -> bool:
    """Whether it is true; false if the object lacks a field that it reads."""
    try:
        found = compiled(expression, gate).execute({"object": obj})
    except KeyError:
        return False
    except (ValueError, TypeError, RuntimeError, ArithmeticError) as error:
        raise _wrong(expression, gate, str(error).splitlines()[0]) from error
    if not isinstance(found, bool):
        raise _wrong(expression, gate, f"its value is {found!r}, not true or false")
    return found


def compiled(expression: str, gate: str) -> Any:
    try:
        import cel  # takes a while, and most clusters have no such gate
    except ImportError as error:
        raise TalopsError(
            "gates with expressions need the extra `gates`",
            where=f"gate {gate}",
            hint="pip install 'talops[gates]'",
        ) from error
    try:
        return cel.compile(expression)
    except ValueError as error:
        raise _wrong(expression, gate, str(error).splitlines()[0]) from error


def _wrong(expression: str, gate: str, why: str) -> TalopsError:
    return TalopsError(
        f"cannot evaluate {expression!r}: {why}",
        where=f"gate {gate}",
        hint="correct expression of this gate in cluster.yaml",
    )
