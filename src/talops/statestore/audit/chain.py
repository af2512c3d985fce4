"""The audit chain: blocks of entries, each bound by its hash to all blocks before it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pydantic_core import to_json

from talops.errors import TalopsError
from talops.statestore.model import AuditEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GENESIS = "0" * 64
# So many entries fit into a block; the rest of a large backlog goes into the next ones.
LARGEST = 2000


class Signer(Protocol):
    """Signs with a key that the store does not contain."""

    def sign(self, data: bytes) -> str: ...

    def verify(self, data: bytes, signature: str) -> bool | None:
        """None if the key is not known."""
        ...


@dataclass(frozen=True, slots=True)
class Mark:
    """The end of a chain at some time; a client that remembers it detects another chain."""

    number: int = 0
    hash: str = GENESIS


@dataclass(frozen=True, slots=True)
class Block:
    """`content` is the JSON of its entries, exactly as it was hashed."""

    number: int
    previous: str
    content: str
    hash: str
    signature: str = ""

    @property
    def mark(self) -> Mark:
        return Mark(self.number, self.hash)

    def entries(self) -> list[AuditEntry]:
        try:
            return [AuditEntry(*row) for row in json.loads(self.content)]
        except (ValueError, TypeError) as error:
            raise TalopsError(
                "a block of the audit cannot be read",
                where=f"block {self.number}",
                hint="talops state audit verify",
            ) from error


def link(last: Mark, entries: Sequence[AuditEntry], signer: Signer | None) -> Block:
    """The next block."""
    content = to_json([entry.row for entry in entries]).decode()
    number = last.number + 1
    found = digest(number, last.hash, content)
    signature = signer.sign(found.encode()) if signer else ""
    return Block(number, last.hash, content, found, signature)


def digest(number: int, previous: str, content: str) -> str:
    text = f"{number}\n{previous}\n{content}"
    # What was damaged may contain half characters; a server writes none.
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def newest(blocks: Iterable[Block], limit: int) -> list[AuditEntry]:
    """The last entries of blocks that come newest first."""
    found: list[AuditEntry] = []
    for block in blocks:
        found += reversed(block.entries())
        if len(found) >= limit:
            break
    return found[:limit]


class Verifier:
    """Reads a chain in order and collects what is wrong with it."""

    def __init__(self, start: Mark = Mark(), signer: Signer | None = None) -> None:  # noqa: B008  (frozen)
        self.problems: list[str] = []
        self.last = start
        self.entries = 0
        self.signed = False
        self._signer = signer
        # A block before was signed with a key that the signer has.
        self._verified = False
        # What others remember of the chain, by number.
        self._seen: dict[int, str] = {}

    def remember(self, mark: Mark) -> None:
        """A block that existed must be the same when it is read."""
        if mark.number > self.last.number:
            # The first who remembers it is the witness; the server itself comes later.
            known = self._seen.setdefault(mark.number, mark.hash)
            if known != mark.hash:
                self.problems.append(_rewritten(mark.number, known))
        elif mark.number == self.last.number and mark.hash != self.last.hash:
            self.problems.append(f"block {mark.number} is not the end that the server names")

    def read(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            self._read(block)

    def end(self) -> list[str]:
        """All problems, after the last block was read."""
        for number in sorted(self._seen):
            self.problems.append(
                f"the chain ends with block {self.last.number}, but block {number} existed: "
                "its end was removed"
            )
        return self.problems

    def _read(self, block: Block) -> None:
        place = f"block {block.number}"
        if block.number <= self.last.number:
            self.problems.append(f"{place} follows block {self.last.number}: reordered")
        elif block.number > self.last.number + 1:
            gap = f"{self.last.number + 1} to {block.number - 1}"
            self.problems.append(f"blocks {gap} are missing")
        elif block.previous != self.last.hash:
            self.problems.append(f"{place} does not follow the block before it: replaced")
        if digest(block.number, block.previous, block.content) != block.hash:
            self.problems.append(f"{place} was changed")
        if (known := self._seen.pop(block.number, block.hash)) != block.hash:
            self.problems.append(_rewritten(block.number, known))
        self._check_signature(block)
        self.last = block.mark
        self.entries += len(block.entries())

    def _check_signature(self, block: Block) -> None:
        """Blocks from before the server had a key are not signed, but bound to the signed ones."""
        place = f"block {block.number}"
        if not block.signature:
            if self.signed:
                self.problems.append(f"{place} is not signed, unlike those before it: forged")
            return
        self.signed = True
        if self._signer is None:
            return
        data = block.hash.encode(errors="surrogatepass")
        self.judge(block.number, self._signer.verify(data, block.signature))

    def judge(self, number: int, valid: bool | None) -> None:
        """What a signer says of a signature. Keys that are not known any more came first."""
        if valid is False:
            self.problems.append(f"the signature of block {number} is wrong: forged")
        if valid is None and self._verified:
            self.problems.append(
                f"block {number} is signed with an unknown key, unlike those before it: forged, or "
                "the key file is old"
            )
        self._verified = self._verified or bool(valid)


def _rewritten(number: int, known: str) -> str:
    return f"block {number} is not the one that was seen earlier ({known[:12]}): rewritten"
