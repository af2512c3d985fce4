"""`talops talos etcd`: members, status, alarms and data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.output import note
from talops.cli.talos.guarding import AllowUnhealthyEtcd, require_etcd
from talops.cli.talos.output import ask_all, emit, row
from talops.cli.talos.session import Session, connected
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.talos.calls.etcd import EtcdAlarm


def add_to(app: typer.Typer) -> None:
    etcd = typer.Typer(help="Inspect and maintain etcd on control planes.", no_args_is_help=True)
    commands: dict[str, Callable[..., Awaitable[None]]] = {
        "members": members,
        "status": status,
        "alarms": alarms,
        "disarm": disarm,
        "snapshot": snapshot,
        "recover": recover,
        "defrag": defrag,
        "forfeit-leadership": forfeit,
        "leave": leave,
        "remove-member": remove,
    }
    for name, command in commands.items():
        etcd.command(name)(connected(command))
    app.add_typer(etcd, name="etcd")


async def members(session: Session) -> None:
    """List the etcd members that each node reports."""
    from talops.talos.calls.etcd import member_name

    async with session.open(control_planes=True) as nodes:
        answers, errors = await ask_all(nodes, lambda node: node.etcd.members())
    rows = [
        {**row(node, member), "id": member_name(member.id)}
        for node, found in answers
        for member in found
    ]
    heads = ["node", "id", "hostname", "peer_urls", "client_urls", "learner"]
    emit(rows, heads, session.output, errors)


async def status(session: Session) -> None:
    """Show database size, leader and errors of each member."""
    from talops.talos.calls.etcd import member_name

    async with session.open(control_planes=True) as nodes:
        answers, errors = await ask_all(nodes, lambda node: node.etcd.status())
    rows = [
        {**row(node, s), "member_id": member_name(s.member_id), "leader": member_name(s.leader)}
        for node, s in answers
    ]
    heads = ["node", "member_id", "leader", "db_size", "db_size_in_use", "raft_index", "raft_term"]
    emit(rows, [*heads, "learner", "storage_version", "errors"], session.output, errors)


async def alarms(session: Session) -> None:
    """List active alarms; empty if there are no alarms."""
    async with session.open(control_planes=True) as nodes:
        answers, errors = await ask_all(nodes, lambda node: node.etcd.alarms())
    _print_alarms(answers, session, errors)


async def disarm(session: Session) -> None:
    """Disarm alarms after their cause is fixed."""
    async with session.open(control_planes=True) as nodes:
        answers, errors = await ask_all(nodes, lambda node: node.etcd.disarm())
    _print_alarms(answers, session, errors)


async def snapshot(
    session: Session,
    path: Annotated[Path, typer.Argument(help="File to write (mode 0600).")],
) -> None:
    """Save a snapshot to a file and verify its digest."""
    async with session.open(control_planes=True) as nodes:
        saved = await nodes[0].etcd.snapshot(path)
    rows = [{"path": str(saved.path), "size": saved.size, "sha256": saved.sha256}]
    emit(rows, ["path", "size", "sha256"], session.output)


async def recover(
    session: Session,
    path: Annotated[Path, typer.Argument(help="Snapshot file from `etcd snapshot`.")],
    from_copy: Annotated[
        bool,
        typer.Option(
            "--from-copy", help="The file is a database copied from a node, without a digest."
        ),
    ] = False,
    timeout: Annotated[float, typer.Option(help="Maximum time to wait.")] = 300,  # noqa: ASYNC109  (a flag)
) -> None:
    """Restore etcd from a snapshot, on one control plane named with --nodes.

    All control planes must be endpoints of the context, answer, and not have etcd data.
    """
    from talops.talos.recovery import recover_etcd

    if len(session.nodes) != 1:
        raise TalopsError("name one control plane with --nodes: etcd is restored on it")
    planes = replace(session, nodes=())
    async with session.open() as (target,), planes.open(control_planes=True) as all_:
        await recover_etcd(target, all_, path, timeout=timeout, from_copy=from_copy)
        note(f"{target.where}: etcd is restored from {path}; the other control planes join it")


async def defrag(session: Session) -> None:
    """Release unused space, one node after the other."""
    session.named_nodes()
    async with session.open(control_planes=True) as nodes:
        for node in nodes:
            await node.etcd.defragment()
            note(f"{node.where}: defragmented")


async def forfeit(session: Session) -> None:
    """Move the leadership to another member."""
    session.named_nodes()
    async with session.open(control_planes=True) as nodes:
        answers, errors = await ask_all(nodes, lambda node: node.etcd.forfeit_leadership())
    rows = [{"node": node, "leader now": leader} for node, leader in answers]
    emit(rows, ["node", "leader now"], session.output, errors)


async def leave(session: Session, allow_unhealthy_etcd: AllowUnhealthyEtcd = None) -> None:
    """Remove nodes from etcd, one after the other; each wipes its data."""
    from talops.app.node_guard import refuse_protected

    session.named_nodes()
    refuse_protected(session.directory, session.nodes)
    async with session.open(control_planes=True) as nodes:
        for node in nodes:
            await require_etcd(session, node, allow_unhealthy_etcd, leaves=True)
            await node.etcd.leave()
            note(f"{node.where}: left etcd")


async def remove(
    session: Session,
    member: Annotated[str, typer.Argument(help="Id of the member, as shown by `etcd members`.")],
) -> None:
    """Remove a member whose node is permanently lost."""
    from talops.app.node_guard import refuse_protected

    wanted = _member_id(member)
    async with session.open(control_planes=True) as nodes:
        names = [m.hostname for m in await nodes[0].etcd.members() if m.id == wanted]
        refuse_protected(session.directory, names)
        await nodes[0].etcd.remove_member(wanted)
    note(f"removed {member}")


def _member_id(text: str) -> int:
    try:
        return int(text, 16)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a hexadecimal member id") from None


def _print_alarms(
    answers: Sequence[tuple[str, list[EtcdAlarm]]],
    session: Session,
    errors: Sequence[TalopsError],
) -> None:
    from talops.talos.calls.etcd import member_name

    rows = [
        {"node": node, "member_id": member_name(alarm.member_id), "alarm": alarm.alarm}
        for node, found in answers
        for alarm in found
    ]
    emit(rows, ["node", "member_id", "alarm"], session.output, errors)
