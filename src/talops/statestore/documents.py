"""What the server reads from a state: that it is valid JSON, its serial and its lineage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from talops.errors import TalopsError

# Both tools write serial and lineage first; only this part of a large body is parsed.
START = 64 * 1024


class NotAStateError(TalopsError):
    pass


@dataclass(frozen=True, slots=True)
class StateHeader:
    serial: Annotated[int, Field(ge=0, lt=2**63)]
    lineage: Annotated[str, Field(max_length=256, pattern=r"^[ -~]+$")]


_ADAPTER = TypeAdapter(StateHeader)


def header_of(body: bytes) -> StateHeader:
    """Parse all of it; only serial and lineage become Python objects."""
    try:
        return _ADAPTER.validate_json(body)
    except ValidationError as error:
        raise NotAStateError(
            f"the body is not a state: {_reason(error)}",
            hint="send the complete JSON document that tofu or terraform wrote",
        ) from None


def header_at_start(body: bytes) -> StateHeader | None:
    """Serial and lineage, if the first bytes of a JSON object contain them."""
    try:
        start = from_json(body[:START], allow_partial=True)
        return _ADAPTER.validate_python(start) if isinstance(start, dict) else None
    except (ValidationError, ValueError):
        return None


def _reason(error: ValidationError) -> str:
    # Only the message: the text of pydantic would quote the body, which contains secrets.
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]
