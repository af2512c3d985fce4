"""Bring stored versions to the current key and the current binding."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from talops.errors import ConflictError
from talops.statestore.encryption.sealing import FRAME
from talops.statestore.lockinfo import lock_info
from talops.statestore.model import AuditEntry, Draft, Lock

if TYPE_CHECKING:
    from talops.statestore.encryption.keys import Keyring
    from talops.statestore.encryption.sealing import BodyCipher
    from talops.statestore.model import Actor, Stored
    from talops.statestore.store import Store


class Resealing:
    """The bodies of encrypted versions stay as they are; only their keys are wrapped again. The
    newest version of a state without encryption is written again, encrypted.
    """

    def __init__(self, store: Store, vault: BodyCipher, keyring: Keyring, actor: Actor) -> None:
        self._store = store
        self._vault = vault
        self._keyring = keyring
        self._actor = actor

    async def rewrap(self, state: str) -> int:
        count = 0
        for version in await self._store.versions(state):
            if version.sealed_key and not self._keyring.is_current(version.sealed_key):
                wrapped = self._vault.rewrap(state, version, version)
                await self._store.rewrap(state, version.number, wrapped)
                count += 1
        return count

    async def encrypt(self, state: str) -> bool:
        """Whether the newest version had to be written again."""
        stored = await self._store.read(state)
        if stored is None or stored.version.sealed_key:
            return False
        at, lock_id = time.time(), str(uuid.uuid4())
        who, origin = self._actor.who, self._actor.origin
        lock = Lock(lock_id, lock_info(lock_id, who, "talops state encryption"), who)
        taken = await self._store.lock(state, lock, AuditEntry(at, who, origin, "lock", state))
        if not taken.accepted:
            raise ConflictError(
                f"{state} is locked", where=state, hint="wait for its holder, then send it again"
            )
        try:
            # No other client writes under the lock: read again what is copied.
            stored = await self._store.read(state)
            assert stored is not None
            await self._store.write(state, await self._draft(state, stored, at, lock_id))
        finally:
            entry = AuditEntry(at, who, origin, "unlock", state)
            await self._store.unlock(state, lock_id, entry)
        return True

    async def _draft(self, state: str, stored: Stored, at: float, lock_id: str) -> Draft:
        old, seal = stored.version, self._vault.seal(state)
        draft = Draft(
            old.serial,
            old.lineage,
            old.size,
            old.md5,
            self._actor,
            at,
            lock_id,
            force=True,
            note=f"version {old.number}, encrypted",
            wrap=seal.wrap,
        )
        if stored.body is not None:
            body = self._vault.open(state, old, stored.body)
            return replace(draft, body=b"".join(seal.frame([body], last=True)))
        source = self._vault.open_stream(state, old, self._store.stream(old.blob))
        body = b"".join([piece async for piece in source])
        frames = [body[place : place + FRAME] for place in range(0, len(body), FRAME)]
        staging = await self._store.stage()
        for frame in frames:
            sealed = await asyncio.to_thread(seal.frame, [frame], last=frame is frames[-1])
            await staging.write(lambda sealed=sealed: sealed)  # type: ignore[misc]  # a default binds it
        return replace(draft, blob=await staging.finish())
