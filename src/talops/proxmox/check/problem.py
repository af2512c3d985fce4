"""Problems of hosts; `where` is a host, a path of Proxmox or an address."""

from __future__ import annotations

from typing import TypeAlias

from talops.problems import Problem, Severity

HostProblem: TypeAlias = Problem[str]


def problem(
    rule: str, what: str, fix: str, where: str = "", severity: Severity = Severity.ERROR
) -> HostProblem:
    return HostProblem(rule, where, what, fix, severity)


def unread(what: str, reason: str, hint: str | None) -> HostProblem:
    return problem(
        "unread", f"could not read {what}: {reason}", hint or "run talops host check again"
    )
