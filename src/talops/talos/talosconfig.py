"""The talosconfig file: which clusters there are, how to reach them, and with which certificate."""

from __future__ import annotations

import base64
import binascii
import io
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from talops import quickyaml
from talops.redaction import Secret
from talops.talos.credentials import Credentials
from talops.talos.errors import TalosconfigError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Context:
    """One cluster: calls go to `endpoints`, for `nodes`; ca, crt and key are base64."""

    name: str
    endpoints: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    ca: str = ""
    crt: str = ""
    key: Secret = field(default_factory=lambda: Secret(""))

    def credentials(self) -> Credentials:
        return Credentials(
            ca=_pem(self.ca, f"context {self.name}, ca"),
            certificate=_pem(self.crt, f"context {self.name}, crt"),
            key=Secret(_pem(self.key.reveal(), f"context {self.name}, key")),
        )


@dataclass(frozen=True)
class Talosconfig:
    context: str
    contexts: dict[str, Context]

    def pick(self, name: str | None = None, *, where: str = "talosconfig") -> Context:
        wanted = name or self.context
        if wanted in self.contexts:
            return self.contexts[wanted]
        known = ", ".join(sorted(self.contexts)) or "none"
        raise TalosconfigError(
            f"there is no context {wanted!r}" if wanted else "no context is chosen",
            where=where,
            hint=f"choose one with --context; known: {known}",
        )

    def merge(self, other: Talosconfig) -> Talosconfig:
        """The contexts of both; where both have one, and for the chosen one, `other` wins."""
        return Talosconfig(other.context or self.context, {**self.contexts, **other.contexts})

    def with_context(self, context: Context) -> Talosconfig:
        return replace(self, contexts={**self.contexts, context.name: context})


def read(path: Path) -> Talosconfig:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise TalosconfigError(
            f"cannot read: {error.strerror}",
            where=str(path),
            hint="pass --talosconfig or set TALOSCONFIG",
        ) from error
    return parse(text, where=str(path))


def parse(text: str, *, where: str = "talosconfig") -> Talosconfig:
    try:
        data = quickyaml.load(text)
        contexts = {name: _context(name, raw or {}) for name, raw in data["contexts"].items()}
        return Talosconfig(data.get("context") or "", contexts)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        # The parser's own text quotes the line, and the line may be the key.
        raise TalosconfigError("not YAML", where=f"{where}{line}") from None
    except (AttributeError, KeyError, TypeError) as error:
        raise TalosconfigError(
            "not a talosconfig: it has no `contexts` with endpoints, ca, crt and key", where=where
        ) from error


def render(config: Talosconfig) -> str:
    """The file's text; it holds keys, so write it with mode 0600."""
    contexts = {
        c.name: {
            "endpoints": list(c.endpoints),
            **({"nodes": list(c.nodes)} if c.nodes else {}),
            "ca": c.ca,
            "crt": c.crt,
            "key": c.key.reveal(),
        }
        for c in config.contexts.values()
    }
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = 1_000_000
    out = io.StringIO()
    yaml.dump({"context": config.context, "contexts": contexts}, out)
    return out.getvalue()


def _context(name: str, raw: dict[str, Any]) -> Context:
    return Context(
        name=name,
        endpoints=tuple(raw.get("endpoints") or ()),
        nodes=tuple(raw.get("nodes") or ()),
        ca=raw.get("ca") or "",
        crt=raw.get("crt") or "",
        key=Secret(raw.get("key") or ""),
    )


def _pem(encoded: str, where: str) -> str:
    try:
        pem = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        pem = ""
    if "-----BEGIN " not in pem:
        raise TalosconfigError("not the base64 of a PEM block", where=where)
    return pem
