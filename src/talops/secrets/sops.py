"""Run the sops program: plain text only in pipes, the key only in memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import DeniedError, TalopsError, ToolError
from talops.secrets.metadata import read_recipients, recipients_of
from talops.secrets.rules import FILE as RULES_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from talops.secrets.age import KeyRing

# Exit codes that sops documents in its source.
_NO_KEY, _MAC_MISMATCH, _UNCHANGED = 128, 51, 200
# Variables from which sops reads other keys: it must use only the key it is given.
_NOWHERE = "/nonexistent"


@dataclass(frozen=True)
class Sops:
    """One sops program, one key ring, one repository root with its .sops.yaml."""

    program: Path
    root: Path
    keys: KeyRing | None = None

    async def decrypt(self, file: Path) -> str:
        """The plain text, in memory only."""
        code, out, err = await self._run(["decrypt", str(file)], keys=self.keys)
        if code:
            raise self._refusal(file, code, err)
        return out

    async def decrypt_text(self, text: str, file: Path) -> str:
        """Like `decrypt`, for the future content of `file`."""
        words = ["decrypt", "--filename-override", str(file)]
        code, out, err = await self._run(words, stdin=text, keys=self.keys)
        if code:
            raise self._refusal(file, code, err, text)
        return out

    async def encrypt(self, text: str, file: Path) -> str:
        """The encrypted text for `file`, by the rule of .sops.yaml for its path."""
        relative = file.relative_to(self.root)
        words = ["encrypt", "--filename-override", str(relative)]
        code, out, err = await self._run(words, stdin=text)
        if code and not (self.root / RULES_FILE).exists():
            raise ToolError(
                f"{RULES_FILE} does not exist, so SOPS does not know for which keys to encrypt",
                where=str(self.root / RULES_FILE),
                hint="talops secrets init",
            )
        if code:
            raise ToolError(
                f"sops cannot encrypt: {_last_line(err)}",
                where=str(file),
                hint="talops secrets check",
            )
        return out

    async def set_value(self, file: Path, key: str, json_value: str) -> None:
        """Change one value of an encrypted file in place; other values keep their ciphertext."""
        words = ["set", "--value-stdin", str(file), f'["{key}"]']
        code, _, err = await self._run(words, stdin=json_value, keys=self.keys)
        if code:
            raise self._refusal(file, code, err)

    async def unset_value(self, file: Path, key: str) -> None:
        """Remove one value of an encrypted file in place."""
        code, _, err = await self._run(["unset", str(file), f'["{key}"]'], keys=self.keys)
        if code:
            raise self._refusal(file, code, err)

    async def change_recipients(
        self, file: Path, *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> None:
        """Encrypt again in place, with a new data key, for other recipients."""
        words = ["rotate", "--in-place"]
        words += ["--add-age", ",".join(add)] if add else []
        words += ["--rm-age", ",".join(remove)] if remove else []
        code, _, err = await self._run([*words, str(file)], keys=self.keys)
        if code:
            raise self._refusal(file, code, err)

    async def replace_plain(self, file: Path, plain: Path, environment: Mapping[str, str]) -> bool:
        """Encrypt the text in `plain` into `file`; values that are equal keep their ciphertext.

        For sops this is an edit with `mv` as the editor, which reads no key. If sops refuses the
        text, it calls the editor again; the second `mv` fails, so sops does not wait for a key.
        """
        more = {
            "TMPDIR": str(plain.parent),
            "PATH": environment.get("PATH", os.defpath),
            "SOPS_EDITOR": shlex.join(["mv", "-f", "--", str(plain)]),
        }
        code, _, err = await self._run(["edit", str(file)], keys=self.keys, more=more)
        if code not in (0, _UNCHANGED):
            raise self._refusal(file, code, err)
        return code == 0

    async def version(self) -> str:
        code, out, err = await self._run(["--version"])
        if code:
            raise ToolError(f"cannot run sops: {_last_line(err)}", where=str(self.program))
        return out.split()[1] if len(out.split()) > 1 else out.strip()

    async def _run(
        self,
        words: Sequence[str],
        *,
        stdin: str = "",
        keys: KeyRing | None = None,
        more: Mapping[str, str] | None = None,
    ) -> tuple[int, str, str]:
        with self._environment(keys) as (environment, descriptors):
            try:
                process = await asyncio.create_subprocess_exec(
                    str(self.program),
                    *words,
                    cwd=self.root,
                    env={**environment, **(more or {})},
                    pass_fds=descriptors,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    start_new_session=True,
                )
            except OSError as error:
                raise ToolError(
                    f"cannot start sops: {error.strerror}",
                    where=str(self.program),
                    hint="talops tools install sops",
                ) from error
            out, err = await _talk(process, stdin.encode())
        return process.returncode or 0, out.decode(), err.decode(errors="replace")

    @contextlib.contextmanager
    def _environment(
        self, keys: KeyRing | None
    ) -> Iterator[tuple[dict[str, str], tuple[int, ...]]]:
        """Pass the key in a memfd: not in argv, environment or file system."""
        environment = {"SOPS_DISABLE_VERSION_CHECK": "1", "HOME": _NOWHERE}
        if keys is None:
            yield environment, ()
            return
        descriptor = os.memfd_create("age-key")
        try:
            os.write(descriptor, keys.text().encode())
            path = f"/proc/self/fd/{descriptor}"
            yield {**environment, "SOPS_AGE_KEY_FILE": path}, (descriptor,)
        finally:
            os.close(descriptor)

    def _refusal(self, file: Path, code: int, err: str, text: str | None = None) -> TalopsError:
        if code == _NO_KEY:
            return self._no_key(file, text)
        if code == _MAC_MISMATCH:
            return ToolError(
                "the encrypted file was edited by hand: its MAC does not match",
                where=str(file),
                hint="restore it from Git, then change it with talops secrets edit",
            )
        return ToolError(f"sops failed: {_last_line(err) or f'exit code {code}'}", where=str(file))

    def _no_key(self, file: Path, text: str | None) -> DeniedError:
        found = read_recipients(file) if text is None else recipients_of(text, file.name)
        wanted = ", ".join(sorted(found or ())) or "no age recipient"
        have = ", ".join(sorted(self.keys.recipients)) if self.keys else "no key"
        return DeniedError(
            f"cannot decrypt with the current age key ({have}): encrypted for {wanted}",
            where=str(file),
            hint="put the matching key into age.key, or set SOPS_AGE_KEY_FILE",
        )


async def _talk(process: asyncio.subprocess.Process, data: bytes) -> tuple[bytes, bytes]:
    try:
        return await process.communicate(data)
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
