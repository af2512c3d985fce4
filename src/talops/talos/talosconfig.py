"""Read the talosconfig file: which context is meant, and its credentials."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from ruamel.yaml.error import YAMLError

from talops import quickyaml
from talops.redaction import Secret
from talops.talos.credentials import Credentials
from talops.talos.errors import TalosconfigError
from talops.talosconfig import Talosconfig, from_data

if TYPE_CHECKING:
    from pathlib import Path

    from talops.talosconfig import Context


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
        found = from_data(quickyaml.load(text))
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        # The parser's own text quotes the line, and the line may be the key.
        raise TalosconfigError("not YAML", where=f"{where}{line}") from None
    if found is None:
        raise TalosconfigError(
            "not a talosconfig: it has no `contexts` with endpoints, ca, crt and key", where=where
        )
    return found


def pick(config: Talosconfig, name: str | None = None, *, where: str = "talosconfig") -> Context:
    """The named context, or the current one."""
    wanted = name or config.context
    if wanted in config.contexts:
        return config.contexts[wanted]
    known = ", ".join(sorted(config.contexts)) or "none"
    raise TalosconfigError(
        f"there is no context {wanted!r}" if wanted else "no context is chosen",
        where=where,
        hint=f"choose one with --context; known: {known}",
    )


def credentials_of(context: Context) -> Credentials:
    return Credentials(
        ca=_pem(context.ca, f"context {context.name}, ca"),
        certificate=_pem(context.crt, f"context {context.name}, crt"),
        key=Secret(_pem(context.key.reveal(), f"context {context.name}, key")),
    )


def _pem(encoded: str, where: str) -> str:
    try:
        pem = base64.b64decode(encoded, validate=True).decode()
    except ValueError:
        pem = ""
    if "-----BEGIN " not in pem:
        raise TalosconfigError("not the base64 of a PEM block", where=where)
    return pem
