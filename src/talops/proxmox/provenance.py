"""One line of a template's description: what it holds, and that talops created it."""

from __future__ import annotations

import re
from dataclasses import dataclass

TAG = "talops-template"
_LINE = re.compile(
    r"talops template: version=(?P<version>v\S+) schematic=(?P<schematic>[0-9a-f]+) "
    r"platform=(?P<platform>\w+) secureboot=(?P<secureboot>true|false) source=(?P<source>\w+)"
)


@dataclass(frozen=True)
class Provenance:
    version: str
    schematic: str
    platform: str
    secureboot: bool
    source: str  # image, iso

    def line(self) -> str:
        return (
            f"talops template: version={self.version} schematic={self.schematic} "
            f"platform={self.platform} secureboot={str(self.secureboot).lower()} "
            f"source={self.source}"
        )


def read_provenance(description: str) -> Provenance | None:
    """None: talops did not create it."""
    found = _LINE.search(description)
    if not found:
        return None
    return Provenance(
        version=found["version"],
        schematic=found["schematic"],
        platform=found["platform"],
        secureboot=found["secureboot"] == "true",
        source=found["source"],
    )
