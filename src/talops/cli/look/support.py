"""talops support: a support bundle without secrets."""

from __future__ import annotations

import asyncio
import os
import platform
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import print_json
from talops.errors import TalopsError
from talops.redaction import Secret

if TYPE_CHECKING:
    from talops.cli.secrets.context import Context

_SECRET_VARIABLE = re.compile(
    r".*(PASSWORD|TOKEN|SECRET|PASSPHRASE|ACCESS_KEY|TICKET|AGE_KEY)", flags=re.IGNORECASE
)
# Names, ids and the path of a key are not secret.
_NO_SECRET = re.compile(r".*(_ID|_USERNAME|_FILE|_USER)", flags=re.IGNORECASE)


def register(root: typer.Typer) -> None:
    root.command("support")(support)


def support(
    directory: Directory = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="File to write.", show_default="named after the current time"),
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", help="Number of recent runs to include.", min=0)
    ] = 5,
    patterns_only: Annotated[
        bool,
        typer.Option("--patterns-only", help="Without keys: search for patterns of secrets only."),
    ] = False,
    output: Output = Format.TEXT,
) -> None:
    """Pack recent runs, versions and the inventory into a file without secrets."""
    from talops.app.support import cleaned, collect, pack, prove
    from talops.files import PRIVATE, write_atomic
    from talops.pipeline.history import list_runs

    assert directory is not None
    root = directory.resolve()
    known = {**_environment(os.environ), **({} if patterns_only else _known(root))}
    now = datetime.now(UTC)
    files = cleaned(collect(root, list_runs(root / ".talops")[:runs]), known)
    facts = {**asyncio.run(_versions()), "made": now.isoformat(timespec="seconds")}
    proof = {"secrets_looked_for": len(known), "patterns_only": patterns_only}
    bundle = pack(files, {**facts, **proof})
    count = prove(bundle, known)
    target = out or Path(f"talops-support-{now:%Y%m%d-%H%M%S}.tar.gz")
    write_atomic(target.absolute(), bundle, mode=PRIVATE)
    if output is Format.JSON:
        print_json({"version": 1, "file": str(target), "files": count, **proof})
    else:
        typer.echo(str(target))
        typer.echo(f"{count} files; none of {len(known)} known secrets is in them", err=True)


def _known(root: Path) -> dict[str, Secret]:
    """All values that must not be in the bundle; unknown secrets are an error."""
    from talops.cli.secrets.context import with_context

    try:
        return with_context(root, lambda context: _opened(context, root))
    except TalopsError as error:
        raise TalopsError(
            f"cannot exclude secrets from the bundle, because they cannot be read: {error.what}",
            where=error.where,
            hint="set SOPS_AGE_KEY_FILE to the age key, or run: talops support --patterns-only",
        ) from error


async def _opened(context: Context, root: Path) -> dict[str, Secret]:
    from talops.machineconfig.secrets import bundle as bundles
    from talops.secrets.vault import Vault
    from talops.site.secrets_file import find_secrets

    values = await Vault.of(context.sops).read()
    known = {name: value for name, value in values.items() if not _NO_SECRET.fullmatch(name)}
    for number, key in enumerate(context.sops.keys.keys if context.sops.keys else ()):
        known[f"age key {number + 1}"] = key.identity
    if stored := find_secrets(root):
        text = await context.sops.decrypt(stored.path) if stored.sealed else None
        text = text if text is not None else stored.path.read_text(encoding="utf-8")
        made = bundles.from_yaml(text, where=str(stored.path))
        secrets = [secret for secret in made.secrets() if secret]
        known |= {f"cluster secret {i + 1}": secret for i, secret in enumerate(secrets)}
    return {**known, **_client_keys(root)}


def _client_keys(root: Path) -> dict[str, Secret]:
    """The secrets in the kubeconfig and the talosconfig of this directory."""
    from talops.kube import kubeconfig
    from talops.machineconfig.places import TALOSCONFIG
    from talops.talos import talosconfig

    found: dict[str, Secret] = {}
    config = kubeconfig.load(root / "kubeconfig")
    if config and config.key:
        found["the kubeconfig's key"] = config.key
    if config and config.token:
        found["the kubeconfig's token"] = config.token
    if (path := root / TALOSCONFIG).exists():
        contexts = talosconfig.read(path).contexts.values()
        found |= {f"the talosconfig's key for {c.name}": c.key for c in contexts if c.key}
    return found


def _environment(variables: Mapping[str, str]) -> dict[str, Secret]:
    return {
        name: Secret(value)
        for name, value in variables.items()
        if value and _SECRET_VARIABLE.fullmatch(name) and not _NO_SECRET.fullmatch(name)
    }


async def _versions() -> dict[str, Any]:
    from talops import __version__
    from talops.toolchain.engine import find_engine
    from talops.toolchain.install import Toolchain

    toolchain = Toolchain(os.environ)
    found = await asyncio.gather(find_engine(toolchain), toolchain.find("sops"))
    return {
        "talops": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "tools": {tool.name: tool.version for tool in found if tool},
    }
