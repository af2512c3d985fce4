"""Encryption at rest: nothing readable on disk, and keys that can be replaced."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.statestore.helpers import client_of, md5_header, state_body

from talops.errors import TalopsError
from talops.statestore.application import Application, Limits
from talops.statestore.encryption.keys import Keyring, MasterKey, StateKeyError, parse_keys
from talops.statestore.encryption.sealing import FRAME, TAG, BodyCipher, NoSeal, Seal
from talops.statestore.guard import OpenGuard
from talops.statestore.model import Version
from talops.statestore.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

OLD, NEW = MasterKey(b"o" * 32), MasterKey(b"n" * 32)
STATE = "/homelab/platform"


def version_of(seal: Seal | NoSeal, number: int = 1) -> Version:
    """A version that the seal's key is wrapped for."""
    version = Version(number, 1, "l", 6, "md5", "alice", "", 0.0)
    return replace(version, sealed_key=seal.wrap(version) if seal.wrap else "")


async def pieces_of(data: bytes, size: int) -> AsyncIterator[bytes]:
    for place in range(0, len(data), size):
        yield data[place : place + size]


@pytest.mark.parametrize("size", [0, 1, FRAME - 1, FRAME, FRAME + 1, 2 * FRAME, 2 * FRAME + 7])
@pytest.mark.parametrize("piece", [65536, FRAME + TAG, 3 * FRAME])
async def test_frames_open_to_what_was_sealed(size: int, piece: int) -> None:
    """Any length, cut into any pieces when it is read, opens to the same bytes."""
    vault, data = (
        BodyCipher(Keyring([OLD])),
        bytes(range(256)) * (size // 256) + b"x" * (size % 256),
    )
    seal = vault.seal("a/b")
    cuts = [data[place : place + FRAME] for place in range(0, size, FRAME)] or [b""]
    frames = [seal.frame([cut[:9], cut[9:]], last=cut is cuts[-1]) for cut in cuts]
    sealed = b"".join(piece for frame in frames for piece in frame)
    stream = vault.open_stream("a/b", version_of(seal), pieces_of(sealed, piece))
    assert b"".join([part async for part in stream]) == data


async def damage(sealed: bytes, kind: str) -> bytes:
    frame = FRAME + TAG
    return {
        "a flipped bit": sealed[:100] + bytes([sealed[100] ^ 1]) + sealed[101:],
        "the last frame missing": sealed[: 2 * frame],
        "two frames exchanged": sealed[frame : 2 * frame] + sealed[:frame] + sealed[2 * frame :],
        "nothing left": b"",
    }[kind]


@pytest.mark.parametrize(
    "kind", ["a flipped bit", "the last frame missing", "two frames exchanged", "nothing left"]
)
async def test_damage_is_noticed(kind: str) -> None:
    """No change of the stored bytes passes for a state."""
    vault = BodyCipher(Keyring([OLD]))
    seal = vault.seal("a/b")
    frames = [seal.frame([b"s" * FRAME], last=number == 2) for number in range(3)]
    sealed = b"".join(piece for frame in frames for piece in frame)
    stream = vault.open_stream(
        "a/b", version_of(seal), pieces_of(await damage(sealed, kind), FRAME)
    )
    with pytest.raises(TalopsError, match="damaged"):
        _ = [part async for part in stream]


def test_a_body_cannot_be_moved_to_another_state() -> None:
    """The state's name is part of the seal."""
    vault = BodyCipher(Keyring([OLD]))
    seal = vault.seal("a/b")
    (sealed,) = seal.frame([b"secret"], last=True)
    with pytest.raises(TalopsError, match="belongs to another version"):
        vault.open("a/c", version_of(seal), sealed)


@pytest.mark.parametrize("padding", [0, 1_500_000])
async def test_nothing_readable_at_rest(tmp_path: Path, padding: int) -> None:
    """With a key, no word of a state is in any file of the store."""
    store = SqliteStore(tmp_path / "states")
    application = Application(store, BodyCipher(Keyring([OLD])), OpenGuard(), Limits())
    body = state_body(1, lineage="geheim", padding=padding).replace(b"terraform_v", b"passwort_v")
    async with client_of(application) as client:
        done = await client.post(STATE, content=body, headers=md5_header(body))
        assert done.status_code == 200
        assert (await client.get(STATE)).content == body
        assert (await client.get("/-/states")).json()[0]["current"]["encrypted"]
    await store.close()
    files = [path for path in (tmp_path / "states").rglob("*") if path.is_file()]
    assert not [path for path in files if b"passwort_v" in path.read_bytes()]


async def test_key_rotation_rewrites_no_history(embedded: SqliteStore) -> None:
    """A new first key seals new versions and opens old ones; a rewrap replaces the old key."""

    def served(*keys: MasterKey) -> Application:
        return Application(embedded, BodyCipher(Keyring(keys)), OpenGuard(), Limits())

    body, later = state_body(1), state_body(2)
    async with client_of(served(OLD)) as client:
        await client.post(STATE, content=body)
    before = await embedded.read("homelab/platform", 1)
    async with client_of(served(NEW, OLD)) as client:
        assert (await client.get(STATE)).content == body
        await client.post(STATE, content=later)
        assert (await client.post("/-/rewrap")).json() == {"rewrapped": 1, "encrypted": 0}
    after = await embedded.read("homelab/platform", 1)
    assert before is not None
    assert after is not None
    assert before.body == after.body
    async with client_of(served(NEW)) as client:
        old = await client.get("/-/states/homelab/platform/versions/1")
        assert old.content == body
        assert (await client.get(STATE)).content == later


async def test_a_missing_key_is_an_error_never_an_empty_state(embedded: SqliteStore) -> None:
    """Without the right key a state cannot be read, and the answer says why."""
    sealed = Application(embedded, BodyCipher(Keyring([OLD])), OpenGuard(), Limits())
    async with client_of(sealed) as client:
        await client.post(STATE, content=state_body(1))
    for keyring in (None, Keyring([NEW])):
        broken = Application(embedded, BodyCipher(keyring), OpenGuard(), Limits())
        async with client_of(broken) as client:
            answer = await client.get(STATE)
        assert answer.status_code == 500
        assert "key" in answer.json()["error"]


def test_keys_in_every_spelling() -> None:
    """Base64 and hex are keys; comments are not."""
    raw = bytes(range(32))
    text = f"# new\n{base64.b64encode(raw).decode()}\n\n{raw.hex()}\n"
    first, second = parse_keys(text)
    assert first == second == MasterKey(raw)


def test_an_age_identity_gives_a_stable_key() -> None:
    """The same identity derives the same key; one mistyped letter is noticed."""
    identity = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
    (key,) = parse_keys(identity)
    assert parse_keys(identity.lower()) == [key]
    assert key.secret != b"B" * 32
    with pytest.raises(StateKeyError, match="malformed"):
        parse_keys(identity.replace("PYYSJ", "PYYSK", 1))


@pytest.mark.parametrize("text", ["", "# only a comment", "zu kurz", "AAAA", "00" * 31])
def test_bad_keys_are_refused_and_not_quoted(text: str) -> None:
    """An invalid key stops the server before it writes anything."""
    with pytest.raises(StateKeyError) as caught:
        Keyring(parse_keys(text))
    assert "zu kurz" not in str(caught.value)
