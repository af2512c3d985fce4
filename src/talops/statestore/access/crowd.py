"""How many connections the server holds, in total and per address."""

from __future__ import annotations

import resource
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

PER_ADDRESS = 256
# Descriptors for the store, its files and the connections to a database.
_RESERVED = 128
_LEAST = 64


class Member(Protocol):
    """A connection; `idle_since` is None while a request is answered."""

    address: str
    idle_since: float | None

    def drop(self) -> None: ...


@dataclass
class Crowd:
    """Makes room for a new connection by closing an idle one of the address that has the most."""

    capacity: int
    per_address: int = PER_ADDRESS
    # Proxies hold connections for many clients.
    exempt: Callable[[str], bool] = lambda _: False
    _members: set[Member] = field(default_factory=set)
    _counts: Counter[str] = field(default_factory=Counter)

    def enter(self, member: Member) -> bool:
        """False if there is no room: the connection is to be closed at once."""
        address = member.address
        room = True
        if self._counts[address] >= self.per_address and not self.exempt(address):
            room = self._drop_one(address)
        elif len(self._members) >= self.capacity:
            room = self._drop_one(self._counts.most_common(1)[0][0])
        if room:
            self._members.add(member)
            self._counts[address] += 1
        return room

    def leave(self, member: Member) -> None:
        if member in self._members:
            self._members.remove(member)
            self._counts[member.address] -= 1
            if not self._counts[member.address]:
                del self._counts[member.address]

    def _drop_one(self, address: str) -> bool:
        """Close the longest idle connection of an address; False if all of them are in use."""
        idle = [m for m in self._members if m.address == address and m.idle_since is not None]
        if not idle:
            return False
        oldest = min(idle, key=lambda m: m.idle_since or 0.0)
        self.leave(oldest)
        oldest.drop()
        return True


def of_this_process(exempt: Callable[[str], bool]) -> Crowd:
    return Crowd(capacity(), PER_ADDRESS, exempt)


def capacity() -> int:
    """The number of connections that this process has descriptors for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = hard if hard != resource.RLIM_INFINITY else 65536
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, 65536), hard))
        soft = min(wanted, 65536)
    return max(_LEAST, soft - _RESERVED)
