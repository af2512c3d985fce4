"""Small image files that describe themselves.

The first line is JSON that says what boots from this file; the rest is filler that depends only on
that line, so that checksums are the same everywhere.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import re
from dataclasses import dataclass

from talops.lab import zstd

NAME = re.compile(
    r"(?P<platform>[a-z]+)-(?P<arch>amd64|arm64)(?P<secureboot>-secureboot)?"
    r"\.(?P<kind>iso|raw|qcow2)(?:\.(?P<packed>zst|gz|xz))?"
)
FILLER = 64 << 10
DISK_SIZE = 4 << 30  # what a disk image unpacks to, as a virtual size


@dataclass(frozen=True)
class Image:
    schematic: str
    version: str
    platform: str
    arch: str
    secureboot: bool
    kind: str
    packed: str = ""
    extensions: tuple[str, ...] = ()

    def header(self) -> bytes:
        fields: dict[str, object] = {
            "schematic": self.schematic,
            "version": self.version,
            "talos": self.version,
            "platform": self.platform,
            "arch": self.arch,
            "secureboot": self.secureboot,
            "kind": self.kind,
        }
        if self.extensions:
            fields["extensions"] = list(self.extensions)
        if self.kind != "iso":
            fields["virtual_size"] = DISK_SIZE
        return json.dumps(fields).encode() + b"\n"

    def content(self) -> bytes:
        header = self.header()
        seed = hashlib.sha256(header).digest()
        body = header + (seed * (FILLER // len(seed)))[: FILLER - len(header)]
        if self.packed == "gz":
            return gzip.compress(body, mtime=0)
        if self.packed == "xz":
            return lzma.compress(body)
        return zstd.compress(body) if self.packed == "zst" else body


def parse(schematic: str, version: str, filename: str) -> Image | None:
    match = NAME.fullmatch(filename)
    if not match:
        return None
    return Image(
        schematic,
        version,
        match["platform"],
        match["arch"],
        bool(match["secureboot"]),
        match["kind"],
        match["packed"] or "",
    )
