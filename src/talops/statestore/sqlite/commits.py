"""Group commit: requests that wait during one commit share the next one."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from talops.errors import UnreachableError
from talops.statestore.audit.journal import Journal
from talops.statestore.sqlite.ledger import Ledger
from talops.statestore.sqlite.records import Chain

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.statestore.audit.chain import Signer
    from talops.statestore.model import AuditEntry

T = TypeVar("T")
_Waiting = tuple["Callable[[Ledger], Any]", "asyncio.Future[Any]"]
_Batch = tuple[list[_Waiting], list[Any]]


class GroupCommit:
    """The only writer of a database.

    The statements run on the event loop (microseconds, in the page cache); the COMMIT, which waits
    for the disk, runs on its own thread: a thread for the statements would wait for the GIL after
    each of them. No caller gets its result before the COMMIT returns.
    """

    def __init__(self, connection: sqlite3.Connection, signer: Signer | None = None) -> None:
        self._connection = connection
        self._ledger = Ledger(connection)
        self._chain = Chain(connection, signer)
        # Entries that need no commit of their own: reads and logins.
        self.journal = Journal()
        self._taken: list[AuditEntry] = []
        self._loop = asyncio.get_running_loop()
        self._batches: SimpleQueue[_Batch | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._commit, name="state-commit", daemon=True)
        self._thread.start()
        self._waiting: list[_Waiting] = []
        self._busy = False
        self._idle = asyncio.Event()
        self._idle.set()

    def run(self, operation: Callable[[Ledger], T]) -> asyncio.Future[T]:
        """The result of the operation once durable; it must decide before it changes anything."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._waiting.append((operation, future))
        if not self._busy:
            self._busy = True
            self._idle.clear()
            # One iteration later, so that requests that arrive together commit together.
            self._loop.call_soon(self._start)
        return future

    def _start(self) -> None:
        batch, self._waiting = self._waiting, []
        connection = self._connection
        results: list[Any] = []
        try:
            connection.execute("BEGIN IMMEDIATE")
            changes = connection.total_changes
            results.extend(operation(self._ledger) for operation, _ in batch)
            if connection.total_changes != changes or self._ledger.noted:
                self._record()
        except Exception as error:  # noqa: BLE001  (every caller in the batch must hear of it)
            self._finish(batch, [], _translated(error))
            return
        if connection.total_changes == changes:
            self._finish(batch, results, None)
            return
        self._batches.put((batch, results))

    async def flush(self) -> None:
        """Write the waiting entries; nothing happens if there are none."""
        if self.journal:
            await self.run(self._flushed)

    def _flushed(self, ledger: Ledger) -> None:
        self._taken = self.journal.take()
        ledger.noted.extend(self._taken)

    def _record(self) -> None:
        """Everything that waits becomes part of the block of this commit."""
        taken = self.journal.take()
        self._taken += taken
        if entries := [*taken, *self._ledger.noted]:
            self._chain.append(self._ledger, entries)

    def _commit(self) -> None:
        """Run on the thread: one COMMIT after the other."""
        while (found := self._batches.get()) is not None:
            error: BaseException | None = None
            try:
                self._connection.commit()
            except sqlite3.Error as caught:
                error = _translated(caught)
            self._loop.call_soon_threadsafe(self._finish, *found, error)

    def _finish(
        self, batch: list[_Waiting], results: list[Any], error: BaseException | None
    ) -> None:
        if error is not None:
            self._ledger.forget()
            self._chain.undo()
            self.journal.put_back(self._taken)
        else:
            self.journal.written()
        self._ledger.noted.clear()
        self._chain.done()
        self._taken = []
        if self._connection.in_transaction:
            self._connection.rollback()
        for place, (_, future) in enumerate(batch):
            if future.done():  # its client has disconnected
                continue
            if error is None:
                future.set_result(results[place])
            else:
                future.set_exception(error)
        if self._waiting:
            self._loop.call_soon(self._start)
        else:
            self._busy = False
            self._idle.set()

    async def close(self) -> None:
        await self._idle.wait()
        self._batches.put(None)
        self._thread.join()


def _translated(error: BaseException) -> BaseException:
    if isinstance(error, sqlite3.Error):
        return UnreachableError(f"the state database failed: {error}")
    return error
