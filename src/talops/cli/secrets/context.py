"""Context of the `talops secrets` commands: the repository, the key, the sops program."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from talops.redaction import Secret
from talops.secrets.init import KEY_FILE, find_keys
from talops.secrets.sops import Sops

T = TypeVar("T")


@dataclass(frozen=True)
class Context:
    sops: Sops
    key_file: Path
    # The key comes from the environment: there is no file to change.
    key_in_environment: bool


def with_context(directory: Path | None, work: Callable[[Context], Awaitable[T]]) -> T:
    assert directory is not None  # the option's callback fills it in
    return asyncio.run(in_context(directory.resolve(), work))


async def in_context(root: Path, work: Callable[[Context], Awaitable[T]]) -> T:
    """Like `with_context`, for callers inside a running loop; `root` is absolute."""
    return await work(await _context(root))


async def _context(root: Path) -> Context:
    from talops.cli.tools.progress import progress
    from talops.toolchain.install import Toolchain

    named = os.environ.get("SOPS_AGE_KEY_FILE")
    key_file = Path(named) if named else root / KEY_FILE
    text = os.environ.get("SOPS_AGE_KEY")
    keys = find_keys(key_file, Secret(text) if text else None)
    with progress() as emit:
        found = await Toolchain(os.environ, emit=emit).ensure("sops")
    return Context(Sops(found.path, root, keys), key_file, bool(text))
