"""Decryption by the real sops, with the key from the cluster secret."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

Object = dict[str, Any]


class Decryptor:
    """Only for objects with a sops block, as in kustomize-controller."""

    def __init__(self, tools: Callable[[str], Awaitable[Path]], keys: list[str]) -> None:
        self._tools = tools
        self._keys = keys

    async def plain(self, obj: Object) -> Object:
        if "sops" not in obj:
            return obj
        name = f"{obj['kind']}/{obj['metadata']['name']}"
        if not self._keys:
            raise TalopsError(f"{name} is encrypted, and there is no key to decrypt it")
        return await self._run(json.dumps(obj), name)

    async def _run(self, text: str, name: str) -> Object:
        sops = await self._tools("sops")
        descriptor = os.memfd_create("age-key")
        try:
            os.write(descriptor, "\n".join(self._keys).encode())
            process = await asyncio.create_subprocess_exec(
                str(sops),
                *("decrypt", "--input-type", "json", "--output-type", "json"),
                *("--filename-override", "object.json"),
                env={"SOPS_AGE_KEY_FILE": f"/proc/self/fd/{descriptor}", "HOME": "/nonexistent"},
                pass_fds=(descriptor,),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, err = await process.communicate(text.encode())
        finally:
            os.close(descriptor)
        if process.returncode:
            lines = err.decode(errors="replace").strip().splitlines()
            raise TalopsError(f"cannot decrypt {name}: {lines[-1] if lines else 'sops failed'}")
        found: Object = json.loads(out)
        return found
