"""Parameter verification, from a compact notation: one word per parameter.

`vmid!:int:100..999999999`  required, a range        `comment:str`        optional, any text
`bios=seabios|ovmf`         one of                   `net[n]:str`         net0, net1 …
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from talops.lab.proxmox.errors import invalid

UNKNOWN = "property is not defined in schema and the schema does not allow additional properties"
MISSING = "property is missing and it is not optional"
WORD = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9_-]*?)(?P<indexed>\[n\])?(?P<required>!)?"
    r"(?:=(?P<choices>\S+)|:(?P<kind>int|num|bool|str|list)(?::(?P<low>-?\d+)?\.\.(?P<high>\d+)?)?)"
)


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: str
    required: bool = False
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    def check(self, value: Any) -> Any:
        """The typed value, or ValueError with Proxmox' words."""
        if self.kind == "list":
            return value if isinstance(value, list) else [value]
        text = value[-1] if isinstance(value, list) else str(value)
        if self.choices and text not in self.choices:
            raise ValueError(
                f"value '{text}' does not have a value in the enumeration "
                f"'{', '.join(self.choices)}'"
            )
        return self._number(text) if self.kind in {"int", "num"} else self._plain(text)

    def _plain(self, text: str) -> Any:
        if self.kind != "bool":
            return text
        lowered = text.lower()
        if lowered in {"1", "on", "yes", "true"}:
            return 1
        if lowered in {"0", "off", "no", "false"}:
            return 0
        raise ValueError(f"type check ('boolean') failed - got '{text}'")

    def _number(self, text: str) -> int | float:
        pattern, name = (
            (r"-?\d+", "integer") if self.kind == "int" else (r"-?\d+(\.\d+)?", "number")
        )
        if not re.fullmatch(pattern, text):
            raise ValueError(f"type check ('{name}') failed - got '{text}'")
        value = int(text) if self.kind == "int" else float(text)
        if self.low is not None and value < self.low:
            raise ValueError(f"value must have a minimum value of {self.low:g}")
        if self.high is not None and value > self.high:
            raise ValueError(f"value must have a maximum value of {self.high:g}")
        return value


@dataclass(frozen=True)
class Schema:
    plain: dict[str, Parameter]
    indexed: dict[str, Parameter]

    def find(self, name: str) -> Parameter | None:
        if name in self.plain:
            return self.plain[name]
        match = re.fullmatch(r"([a-z_-]+)\d{1,3}", name)
        return self.indexed.get(match[1]) if match else None

    def verify(self, raw: dict[str, Any]) -> dict[str, Any]:
        """Typed values; every wrong parameter is reported at once."""
        errors: dict[str, str] = {}
        values: dict[str, Any] = {}
        for name, value in raw.items():
            parameter = self.find(name)
            if parameter is None:
                errors[name] = UNKNOWN
                continue
            try:
                values[name] = parameter.check(value)
            except ValueError as error:
                errors[name] = str(error)
        for parameter in self.plain.values():
            if parameter.required and parameter.name not in raw:
                errors[parameter.name] = MISSING
        if errors:
            raise invalid(errors)
        return values


@cache
def schema(notation: str) -> Schema:
    plain: dict[str, Parameter] = {}
    indexed: dict[str, Parameter] = {}
    for word in notation.split():
        match = WORD.fullmatch(word)
        if not match:
            raise ValueError(f"not a parameter: {word}")
        parameter = Parameter(
            name=match["name"],
            kind=match["kind"] or "str",
            required=bool(match["required"]),
            choices=tuple(match["choices"].split("|")) if match["choices"] else (),
            low=float(match["low"]) if match["low"] else None,
            high=float(match["high"]) if match["high"] else None,
        )
        (indexed if match["indexed"] else plain)[parameter.name] = parameter
    return Schema(plain, indexed)
