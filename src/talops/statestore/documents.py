"""What the server must know of a state's JSON: that it is one, its serial and its lineage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from talops.errors import TalopsError

# Both tools write serial and lineage first; this much of a large body is looked at.
START = 64 * 1024


class NotAStateError(TalopsError):
    pass


@dataclass(frozen=True, slots=True)
class Marks:
    serial: Annotated[int, Field(ge=0, lt=2**63)]
    lineage: Annotated[str, Field(max_length=256, pattern=r"^[ -~]+$")]


_ADAPTER = TypeAdapter(Marks)


def marks_of(body: bytes) -> Marks:
    """Parse all of it; nothing but the two marks becomes a Python object."""
    try:
        return _ADAPTER.validate_json(body)
    except ValidationError as error:
        raise NotAStateError(
            f"the body is not a state: {_reason(error)}",
            hint="send the whole JSON document that tofu or terraform wrote",
        ) from None


def marks_at_start(body: bytes) -> Marks | None:
    """The marks, if the first bytes of a JSON object hold them."""
    try:
        start = from_json(body[:START], allow_partial=True)
        return _ADAPTER.validate_python(start) if isinstance(start, dict) else None
    except (ValidationError, ValueError):
        return None


def _reason(error: ValidationError) -> str:
    # The message only: pydantic's text would quote the body, which holds secrets.
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]
