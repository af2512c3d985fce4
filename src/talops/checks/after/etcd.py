"""etcd: its members are the control planes, they agree, and none reports an alarm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.pipeline.checks import failed, from_error, passed, warning
from talops.plural import count
from talops.site.connections import errors_of, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.pipeline.checks import Finding
    from talops.site.connections import Connections
    from talops.talos.calls.etcd import EtcdAlarm, EtcdMember, EtcdStatus
    from talops.talos.client import Talos

# A member that lags this far behind the others will not catch up in a moment.
LAG = 5000
# The default quota of etcd: it stops accepting writes at 2 GiB unless configured otherwise.
LARGE = 3 * 2**29


@dataclass(frozen=True)
class EtcdReport:
    """What one control plane reports about etcd."""

    status: EtcdStatus
    members: Sequence[EtcdMember]
    alarms: Sequence[EtcdAlarm]


async def look(connections: Connections) -> list[Finding]:
    answers = await connections.ask(connections.site.cluster.control_planes, _ask)
    unread = [from_error(error) for error in errors_of(answers).values()]
    wanted = {node.name for node in connections.site.cluster.control_planes}
    return unread + judge(wanted, values_of(answers))


async def _ask(talos: Talos) -> EtcdReport:
    return EtcdReport(
        await talos.etcd.status(), await talos.etcd.members(), await talos.etcd.alarms()
    )


def judge(wanted: set[str], answers: Mapping[str, EtcdReport]) -> list[Finding]:
    if not answers:
        return []
    found = [*_membership(wanted, answers), *_health(answers), *_agreement(answers)]
    alarms = sorted({alarm.alarm for answer in answers.values() for alarm in answer.alarms})
    found += [
        failed(f"etcd reports the alarm {alarm}", hint="talops talos etcd alarms")
        for alarm in alarms
    ]
    if not found and len(answers) == len(wanted):
        size = max(answer.status.db_size for answer in answers.values()) / 2**20
        found = [passed(f"{count(len(wanted), 'member')}, one leader, no alarms, {size:.0f} MiB")]
    return found


def _membership(wanted: set[str], answers: Mapping[str, EtcdReport]) -> list[Finding]:
    found: list[Finding] = []
    for name, answer in answers.items():
        seen = {member.hostname for member in answer.members}
        found += [
            failed(f"{other} is not an etcd member", where=name, hint="talops talos etcd members")
            for other in sorted(wanted - seen)
        ]
        found += [
            failed(
                f"{other} is an etcd member but not a control plane of the inventory",
                hint=f"add it to nodes.yaml, or remove it: talops up --allow-destroy {other}",
                final=True,
            )
            for other in sorted(seen - wanted)
        ]
        learners = [member.hostname for member in answer.members if member.learner]
        found += [failed(f"{other} is still a learner of etcd", where=name) for other in learners]
    return list(dict.fromkeys(found))


def _health(answers: Mapping[str, EtcdReport]) -> list[Finding]:
    found = []
    for name, answer in answers.items():
        found += [failed(error, where=name) for error in answer.status.errors]
        if not answer.status.leader:
            found.append(failed("etcd has no leader", where=name, hint="talops talos etcd status"))
        if answer.status.db_size > LARGE:
            size = f"{answer.status.db_size / 2**30:.1f} GiB"
            found.append(
                warning(f"the etcd database has a size of {size}", name, "talops talos etcd defrag")
            )
    return found


def _agreement(answers: Mapping[str, EtcdReport]) -> list[Finding]:
    leaders = {a.status.leader for a in answers.values() if a.status.leader}
    found = []
    if len(leaders) > 1:
        found.append(failed(f"the etcd members follow {len(leaders)} different leaders"))
    sets = {frozenset(member.id for member in answer.members) for answer in answers.values()}
    if len(sets) > 1:
        found.append(
            failed("the etcd members report different member lists", hint="talops talos etcd")
        )
    applied = {name: answer.status.raft_applied_index for name, answer in answers.items()}
    ahead = max(applied.values())
    found += [
        failed(f"etcd is {ahead - index} log entries behind", where=name)
        for name, index in applied.items()
        if ahead - index > LAG
    ]
    return found
