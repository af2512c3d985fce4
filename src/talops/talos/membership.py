"""What etcd loses when one of its members stops: the one judgement for every way to stop a node."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from talops.errors import TalopsError
from talops.talos.errors import CallFailedError, MaintenanceModeError
from talops.talos.recovery import DATA

if TYPE_CHECKING:
    from talops.talos.calls.etcd import EtcdMember, EtcdStatus
    from talops.talos.client import Talos

# Address → a connection that is closed after use, if it is one of its own.
Connect = Callable[[str], AbstractAsyncContextManager["Talos"]]


@dataclass(frozen=True)
class Etcd:
    """Voting members as the answering ones list them, and which of them are healthy.

    `troubled` members answered and are not healthy; `unread` ones gave no answer, so they may be
    either. `founded`: etcd was bootstrapped on one of the control planes, as far as can be known.
    `leader`: the member that leads, if the answers name one.
    """

    members: Mapping[str, int]
    healthy: frozenset[str]
    unread: Mapping[str, str]
    troubled: Mapping[str, str] = field(default_factory=dict)
    founded: bool = True
    leader: str = ""

    @property
    def sick(self) -> frozenset[str]:
        return frozenset(self.members) - self.healthy

    def why(self, names: Collection[str]) -> str:
        """cp-2 (connection refused), cp-3 (no leader)"""
        reasons = {**self.unread, **self.troubled}
        return ", ".join(f"{n} ({reasons[n]})" if n in reasons else n for n in sorted(names))


def objection_to_stop(
    node: str,
    etcd: Etcd,
    *,
    for_good: bool = False,
    missing: Collection[str] = (),
    healed: Collection[str] = (),
) -> str | None:
    """Why this node must not stop now; None if etcd survives it.

    `missing` are members that stop with it, `healed` those that are healthy again by then. A member
    that says itself that it is not healthy takes nothing away by a restart; for one that does not
    answer this is not known.
    """
    if not etcd.members:
        return f"etcd cannot be asked: {etcd.why(etcd.unread)}" if etcd.founded else None
    if node not in etcd.members or (node in etcd.troubled and not for_good):
        return None
    others = set(etcd.members) - {node}
    lost = (others - etcd.healthy - set(healed)) | (others & set(missing))
    if lost:
        return f"etcd would also be without {etcd.why(lost)}"
    return _objection_to_lose(node, others, etcd) if for_good else None


def _objection_to_lose(node: str, others: Collection[str], etcd: Etcd) -> str | None:
    """The member stays on the list, so that the majority is still counted with it."""
    if not others:
        return f"{node} is the only etcd member: without it, the data of the cluster is lost"
    if len(others) < _majority(etcd.members):
        return f"etcd would lose its majority: {len(others)} of {len(etcd.members)} members left"
    return None


def objection_to_leave(node: str, etcd: Etcd) -> str | None:
    """Why etcd would not survive if this member left, so that it does not count any more."""
    if not etcd.members:
        silent = "; ".join(f"{name}: {why}" for name, why in etcd.unread.items())
        return f"etcd did not answer ({silent or 'it is not running'})"
    if node not in etcd.members:
        return None
    left = set(etcd.members) - {node}
    if not left:
        return f"{node} is the only etcd member: without it, the data of the cluster is lost"
    well = left & etcd.healthy
    if len(well) < _majority(left):
        sick = etcd.why(left - well)
        needed = _majority(left)
        return (
            f"etcd would lose its quorum: {len(well)} of {needed} required members healthy; "
            f"not healthy: {sick}"
        )
    return None


def _majority(members: Collection[str]) -> int:
    return len(members) // 2 + 1


async def survey(planes: Mapping[str, Talos], connect: Connect) -> Etcd:
    """Ask every control plane, and every member that is not one of them at its own address."""
    answers = dict(zip(planes, await asyncio.gather(*map(_ask, planes.values())), strict=True))
    lists = [found.members for found in answers.values() if found.members]
    # The most complete list counts: a member that lags behind must not hide another.
    longest = [m for m in max(lists, key=len, default=[]) if not m.learner]
    strangers = [member for member in longest if member_name(member) not in planes]
    asked = await asyncio.gather(*(_ask_at(member, connect) for member in strangers))
    answers |= {member_name(m): found for m, found in zip(strangers, asked, strict=True)}
    waiting = {name for name, found in answers.items() if found.waiting}
    return Etcd(
        members={member_name(member): member.id for member in longest},
        healthy=frozenset(n for n, a in answers.items() if a.status and not a.trouble),
        unread={n: a.error for n, a in answers.items() if a.error and n not in waiting},
        troubled={n: a.trouble for n, a in answers.items() if a.trouble},
        founded=bool(longest) or await _founded(planes.values()),
        leader=_leader(longest, answers.values()),
    )


def _leader(members: Collection[EtcdMember], answers: Collection[_Answer]) -> str:
    leading = {found.status.leader for found in answers if found.status}
    return next((member_name(m) for m in members if m.id in leading), "")


@dataclass(frozen=True)
class _Answer:
    """`waiting`: it is in maintenance mode, so that it cannot be a member."""

    members: tuple[EtcdMember, ...] = ()
    status: EtcdStatus | None = None
    error: str = ""
    waiting: bool = False

    @property
    def trouble(self) -> str:
        if self.status is None:
            return ""
        if self.status.errors:
            return "; ".join(self.status.errors)
        return "learner" if self.status.learner else ("" if self.status.leader else "no leader")


async def _ask(talos: Talos) -> _Answer:
    """From the member itself: without a majority, etcd answers no other question."""
    try:
        status = await talos.etcd.status()
        return _Answer(tuple(await talos.etcd.members(local=True)), status)
    except MaintenanceModeError as error:
        return _Answer(error=error.what, waiting=True)
    except TalopsError as error:
        return _Answer(error=error.what)


async def _ask_at(member: EtcdMember, connect: Connect) -> _Answer:
    try:
        address = member_address(member)
    except CallFailedError as error:
        return _Answer(error=error.what)
    if address is None:
        return _Answer(error="it has not started yet")
    async with connect(address) as talos:
        return await _ask(talos)


async def _founded(planes: Collection[Talos]) -> bool:
    """Whether one of them has data of etcd; one that cannot be asked may have it."""
    calls: list[Awaitable[bool]] = [_has_data(talos) for talos in planes]
    return any(await asyncio.gather(*calls))


async def _has_data(talos: Talos) -> bool:
    try:
        return await talos.files.exists(DATA)
    except MaintenanceModeError:
        return False
    except TalopsError:
        return True


def member_address(member: EtcdMember) -> str | None:
    """Where its node answers; None before its etcd has started for the first time."""
    urls = member.client_urls or member.peer_urls
    try:
        return urlsplit(urls[0]).hostname if urls else None
    except ValueError as error:
        raise CallFailedError(f"{urls[0]!r} is not the address of a member: {error}") from error


def member_name(member: EtcdMember) -> str:
    """Its host name; one that has not started yet has none."""
    return member.hostname or str(member.id)
