"""Audit chains of the state server with random damage: every one must be noticed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.fuzz.campaign import WrongError
from tests.fuzz.mutations import HOSTILE_TEXTS, scrambled

from talops.errors import TalopsError
from talops.statestore.audit.chain import Block, Mark, Verifier, link
from talops.statestore.encryption.keys import Keyring, MasterKey
from talops.statestore.model import AuditEntry

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

RING = Keyring([MasterKey(b"a" * 32)])
STRANGER = Keyring([MasterKey(b"b" * 32)])
LONGEST = 12
Row = tuple[int, str, str, str, str]


class AuditChains:
    def make(self, rng: random.Random) -> dict[str, Any]:
        """The end that a witness remembers is that of the whole chain."""
        signer = rng.choice([RING, None])
        blocks = _chain(rng, signer)
        end = blocks[-1].mark
        before = list(blocks)
        for _ in range(rng.randint(1, 3)):
            _damage(rng, blocks, signer)
        if blocks == before or (signer is None and blocks[: len(before)] == before):
            blocks = before[:-1]  # without a key, blocks at the end are as good as the server's
        return {
            "end": (end.number, end.hash),
            "signed": signer is not None,
            "rows": [_row(block) for block in blocks],
        }

    def run(self, case: dict[str, Any]) -> Iterator[object]:
        verifier = Verifier(signer=RING if case["signed"] else None)
        verifier.remember(Mark(*case["end"]))
        try:
            verifier.read(Block(*row) for row in case["rows"])
            problems = verifier.end()
        except TalopsError as error:
            problems = [error.what]
        if not problems:
            raise WrongError("the damage was not noticed")
        return iter(problems)

    def close(self) -> None:
        pass


def _chain(rng: random.Random, signer: Keyring | None) -> list[Block]:
    blocks: list[Block] = []
    for number in range(rng.randint(2, LONGEST)):
        entries = [
            AuditEntry(
                float(number), "alice", "10.0.0.1", "write", "a/b", f"version {rng.random()}"
            )
            for _ in range(rng.randint(1, 3))
        ]
        blocks.append(link(blocks[-1].mark if blocks else Mark(), entries, signer))
    return blocks


def _row(block: Block) -> Row:
    return block.number, block.previous, block.content, block.hash, block.signature


def _damage(rng: random.Random, blocks: list[Block], signer: Keyring | None) -> None:
    """Blocks removed, exchanged, repeated, cut off or written again, or a field of one changed."""
    if not blocks:
        return
    at, other = rng.randrange(len(blocks)), rng.randrange(len(blocks))
    match rng.randrange(9):
        case 0:
            del blocks[at]
        case 1:
            del blocks[at:]
        case 2:
            blocks[at], blocks[other] = blocks[other], blocks[at]
        case 3:
            blocks.insert(other, blocks[at])
        case 4:
            _rewrite(rng, blocks, at)
        case _:
            blocks[at] = _changed(rng, blocks[at], signer)


def _rewrite(rng: random.Random, blocks: list[Block], first: int) -> None:
    """With right hashes, by someone without the key of the server."""
    stranger = rng.choice([None, STRANGER])
    for place in range(first, len(blocks)):
        last = blocks[place - 1].mark if place else Mark()
        blocks[place] = link(last, [AuditEntry(0.0, "mallory", "", "read", "", "")], stranger)


def _changed(rng: random.Random, block: Block, signer: Keyring | None) -> Block:
    match rng.randrange(5):
        case 0:
            return replace(block, hash=_other(rng, block.hash))
        case 1:
            return replace(block, previous=_other(rng, block.previous))
        case 2:
            number = rng.choice([block.number - 1, block.number + 1, 100, 0])
            return replace(block, number=number)
        case 3 if signer:
            key, _, found = block.signature.partition(":")
            return replace(block, signature=f"{key}:{_other(rng, found)}")
        case _:
            text = scrambled(rng, block.content.encode(), most=1).decode(errors="replace")
            return replace(block, content=text)


def _other(rng: random.Random, text: str) -> str:
    at = rng.randint(0, max(0, len(text) - 1))
    flipped = text[:at] + ("e" if text[at : at + 1] == "f" else "f") + text[at + 1 :]
    return rng.choice([flipped, flipped, *HOSTILE_TEXTS])
