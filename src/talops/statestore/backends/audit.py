"""The audit of a state server, read and verified from another machine."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.files import PRIVATE, make_private_directory, write_atomic
from talops.statestore.audit.chain import Block, Mark, Verifier

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from talops.statestore.audit.chain import Signer
    from talops.statestore.backends.http import HttpBackend
    from talops.statestore.model import AuditEntry


@dataclass(frozen=True, slots=True)
class Proof:
    """What was verified; `number` and `hash` are the end of the chain."""

    number: int
    hash: str
    entries: int
    signed: bool
    problems: tuple[str, ...] = ()


class Witness:
    """Remembers the end of each chain outside its store, so that a shorter one is noticed."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def recall(self, place: str) -> Mark:
        found = self._read().get(place)
        return Mark(**found) if found else Mark()

    def remember(self, place: str, mark: Mark) -> None:
        make_private_directory(self._file.parent)
        content = json.dumps({**self._read(), place: asdict(mark)}, indent=2)
        write_atomic(self._file, content + "\n", mode=PRIVATE)

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            found: dict[str, dict[str, Any]] = json.loads(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            # Without it, a shorter chain would not be noticed: never the same as a first time.
            raise TalopsError(
                f"cannot read what was seen of the audit: {error}",
                where=str(self._file),
                hint="restore the file, or remove it to start again",
            ) from error
        return found


async def prove(backend: HttpBackend, witness: Witness, signer: Signer | None = None) -> Proof:
    """Verify the chain from its first block; its end is remembered only if it is intact."""
    verifier = Verifier(signer=signer)
    verifier.remember(witness.recall(backend.root))
    signed, by_server = False, Verifier()
    newest: bool | None = True
    async for page in _pages(backend, verifier):
        signed = page["signed"]
        for document in page["blocks"]:
            valid = newest = document.pop("valid")
            if signed and document["signature"]:
                by_server.judge(document["number"], valid)
            verifier.read([Block(**document)])
    problems = verifier.end()
    problems += [f"the server says: {each}" for each in by_server.problems]
    if signed and verifier.signed and newest is None:
        problems.append("the last block is signed with a key that the server does not have: forged")
    if signed and verifier.entries and not verifier.signed:
        problems.append("no block is signed, although the server has a key: forged")
    if not problems:
        witness.remember(backend.root, verifier.last)
    last = verifier.last
    return Proof(last.number, last.hash, verifier.entries, verifier.signed, tuple(problems))


async def entries(backend: HttpBackend) -> list[AuditEntry]:
    """All entries that this user may see, newest first."""
    return await backend.audit()


async def _pages(backend: HttpBackend, verifier: Verifier) -> AsyncIterator[dict[str, Any]]:
    """Up to the end that the server names first: reading is itself recorded in new blocks."""
    after, end = 0, None
    while True:
        page = await backend.blocks(after)
        if end is None:
            end = page["head"]["number"]
            verifier.remember(Mark(**page["head"]))
        yield page
        last = page["blocks"][-1]["number"] if page["blocks"] else 0
        if last <= after or last >= end:  # a server may also send the same page again
            return
        after = last
